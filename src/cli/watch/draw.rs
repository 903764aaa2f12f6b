//! How the live view looks: the list at the left, the chosen session at the right, the keys below. On a narrow terminal the list is
//! above. It must not look anything up.

use super::sight::{Detail, Sight};
use super::state::{Mode, State};
use crate::cli::output::{self, Look, first_line, harmless};
use crate::model::id::short;
use crate::model::task::TaskState;
use crate::report::standing::Standing;
use crate::store::humans::HumanKind;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, List, ListItem, ListState, Paragraph, Wrap};

/// Narrower than this there is no room for two panes side by side.
const LEAST_SIDE_BY_SIDE: u16 = 90;
const LIST_WIDTH: u16 = 46;
const BAR_CHARS: usize = 20;
const MAX_PLAN_LINES: usize = 12;
const HELP: &[(&str, &str)] = &[
    ("↑ ↓ j k", "choose a session"),
    ("g G", "the first, the last"),
    ("PgUp PgDn", "scroll the log"),
    ("f", "follow the log again"),
    ("p r", "pause, resume"),
    ("c", "cancel; asks y/n"),
    ("a", "answer: a number picks an option"),
    ("q Esc", "leave; the sessions go on"),
];
const KEYS: &str = "↑↓ choose  a answer  p pause  r resume  c cancel  f follow  ? help  q leave";

/// Draws with or without colours, at one moment.
#[derive(Clone, Copy)]
pub struct Painter {
    pub look: Look,
    pub now_ms: i64,
}

impl Painter {
    pub fn draw(&self, frame: &mut Frame<'_>, state: &State, sight: &Sight) {
        let [main, foot] =
            Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(frame.area());
        match state.single {
            true => self.detail(frame, main, state, sight),
            false => {
                let [list, one] = panes(main);
                self.list(frame, list, state, sight);
                self.detail(frame, one, state, sight);
            }
        }
        self.foot(frame, foot, state, sight);
        if state.mode == Mode::Help {
            self.help(frame, main);
        }
    }

    fn style(&self, style: output::Style) -> Style {
        use output::Style as Look;
        let plain = Style::default();
        let colour = |colour| match self.look.colours {
            true => plain.fg(colour),
            false => plain,
        };
        match style {
            Look::Plain => plain,
            Look::Bold => plain.add_modifier(Modifier::BOLD),
            Look::Dim => plain.add_modifier(Modifier::DIM),
            Look::Good => colour(Color::Green),
            Look::Notice => colour(Color::Yellow),
            Look::Bad => colour(Color::Red),
            Look::Active => colour(Color::Cyan),
        }
    }

    fn span(&self, text: impl AsRef<str>, style: output::Style) -> Span<'static> {
        Span::styled(harmless(text.as_ref()), self.style(style))
    }

    fn list(&self, frame: &mut Frame<'_>, area: Rect, state: &State, sight: &Sight) {
        let items = sight.list.iter().map(|standing| self.item(standing));
        let title = format!(" {} open ", sight.open_count);
        let list = List::new(items)
            .block(Block::bordered().title(title))
            .highlight_style(Style::default().add_modifier(Modifier::REVERSED));
        let mut place = ListState::default().with_selected(state.place(sight));
        frame.render_stateful_widget(list, area, &mut place);
    }

    fn item(&self, standing: &Standing) -> ListItem<'static> {
        let session = &standing.session;
        let (status, style) = standing.in_words(self.now_ms);
        let mark = match standing.runs() {
            true => "▶ ",
            false => "  ",
        };
        let first = Line::from(vec![
            self.span(mark, output::Style::Active),
            self.span(short(&session.id), output::Style::Bold),
            self.span(format!("  {status}"), style),
        ]);
        let second = self.span(
            format!("    {}", first_line(&session.objective)),
            output::Style::Dim,
        );
        ListItem::new(vec![first, Line::from(second)])
    }

    fn detail(&self, frame: &mut Frame<'_>, area: Rect, state: &State, sight: &Sight) {
        let Some(one) = &sight.chosen else {
            let nothing = "no sessions yet; 'ralphd submit FILE' makes one";
            let block = Block::bordered();
            frame.render_widget(Paragraph::new(nothing).block(block), area);
            return;
        };
        let top = self.facts(one, state);
        let height = u16::try_from(top.len()).unwrap_or(u16::MAX);
        let [facts, log] =
            Layout::vertical([Constraint::Max(height + 2), Constraint::Min(3)]).areas(area);
        let title = format!(" {} ", one.standing.session.id);
        let block = Block::bordered().title(title);
        frame.render_widget(Paragraph::new(top).block(block), facts);
        self.log(frame, log, one, state);
    }

    fn facts(&self, one: &Detail, state: &State) -> Vec<Line<'static>> {
        let session = &one.standing.session;
        let (status, style) = one.standing.in_words(self.now_ms);
        let since = session.started_at_ms.unwrap_or(session.created_at_ms);
        let until = session.ended_at_ms.unwrap_or(self.now_ms);
        let mut facts = vec![
            Line::from(self.span(first_line(&session.objective), output::Style::Bold)),
            Line::from(vec![
                self.span(status, style),
                self.span(format!("  {}", one.standing.worker()), output::Style::Dim),
            ]),
            Line::from(vec![
                self.span(self.progress(one), output::Style::Plain),
                self.span(bar(&one.standing), output::Style::Active),
                self.span(
                    format!(
                        "  {}  {}",
                        output::duration(until - since),
                        output::money(session.cost_usd)
                    ),
                    output::Style::Plain,
                ),
            ]),
        ];
        facts.extend(self.question(one, state));
        facts.extend(self.plan(one));
        if !one.calls.is_empty() {
            facts.push(Line::from(self.span("tool calls", output::Style::Dim)));
            let calls = one.calls.iter();
            facts.extend(calls.map(|call| Line::from(self.span(call, output::Style::Plain))));
        }
        facts
    }

    fn progress(&self, one: &Detail) -> String {
        let session = &one.standing.session;
        match (one.standing.progress(), one.standing.runs()) {
            (Some(tasks), _) => format!("{tasks}  "),
            (None, true) => {
                let current = (session.iteration_count + 1).min(session.max_iterations);
                format!("iteration {current} of {}  ", session.max_iterations)
            }
            (None, false) => format!(
                "{} of {} iterations  ",
                session.iteration_count, session.max_iterations
            ),
        }
    }

    fn question(&self, one: &Detail, state: &State) -> Vec<Line<'static>> {
        let Some(asked) = &one.asked else {
            return Vec::new();
        };
        let mut lines: Vec<Line<'static>> = asked
            .question
            .lines()
            .map(|line| Line::from(self.span(line, output::Style::Notice)))
            .collect();
        for (position, option) in asked.options.iter().enumerate() {
            let option = format!("  [{}] {option}", position + 1);
            lines.push(Line::from(self.span(option, output::Style::Notice)));
        }
        let hint = match asked.kind {
            HumanKind::Gate => "a, then: approve, or reject and a reason",
            HumanKind::Question => "a answers",
        };
        lines.push(Line::from(match &state.mode {
            Mode::Answer(text) => self.span(format!("> {text}▏"), output::Style::Bold),
            _ => self.span(hint, output::Style::Dim),
        }));
        lines
    }

    fn plan(&self, one: &Detail) -> Vec<Line<'static>> {
        let shown = one.plan.iter().take(MAX_PLAN_LINES).map(|task| {
            let (mark, style) = match task.status {
                TaskState::Completed => ("✓", output::Style::Good),
                TaskState::Running => ("▶", output::Style::Active),
                TaskState::Failed | TaskState::Blocked => ("✗", output::Style::Bad),
                TaskState::HumanRequired => ("?", output::Style::Notice),
                TaskState::Skipped | TaskState::Cancelled => ("–", output::Style::Dim),
                _ => ("·", output::Style::Dim),
            };
            let words = format!(
                "{mark} {} {}",
                task.task_order,
                first_line(&task.description)
            );
            Line::from(self.span(words, style))
        });
        let mut lines: Vec<Line<'static>> = shown.collect();
        if let Some(more) = one.plan.len().checked_sub(MAX_PLAN_LINES + 1) {
            let more = format!("… and {} more", more + 1);
            lines.push(Line::from(self.span(more, output::Style::Dim)));
        }
        lines
    }

    fn log(&self, frame: &mut Frame<'_>, area: Rect, one: &Detail, state: &State) {
        let number = one.last.as_ref().map(|last| last.number);
        let title = match (number, state.above) {
            (None, _) => " no iteration has started yet ".to_owned(),
            (Some(number), 0) => format!(" log of iteration {number} "),
            (Some(number), above) => {
                format!(" log of iteration {number}, {above} lines above its end; f follows ")
            }
        };
        let room = usize::from(area.height.saturating_sub(2));
        let end = one
            .log
            .len()
            .saturating_sub(state.above)
            .max(room.min(one.log.len()));
        let shown = &one.log[end.saturating_sub(room)..end];
        let lines: Vec<Line<'_>> = shown.iter().map(|line| Line::from(line.as_str())).collect();
        let block = Block::bordered().title(title);
        frame.render_widget(Paragraph::new(lines).block(block), area);
    }

    fn foot(&self, frame: &mut Frame<'_>, area: Rect, state: &State, sight: &Sight) {
        let chosen = sight.chosen.as_ref();
        let id = chosen.map_or("", |one| short(&one.standing.session.id));
        let (text, style) = match (&state.mode, &state.remark) {
            (Mode::Confirm, _) => (format!("cancel {id}? y/n"), output::Style::Bad),
            (Mode::Answer(_), _) => (
                "Enter sends the answer, Esc leaves it".to_owned(),
                output::Style::Notice,
            ),
            (_, Some(remark)) => (remark.clone(), output::Style::Notice),
            _ => (KEYS.to_owned(), output::Style::Dim),
        };
        frame.render_widget(Line::from(self.span(text, style)), area);
    }

    fn help(&self, frame: &mut Frame<'_>, area: Rect) {
        let lines: Vec<Line<'_>> = HELP
            .iter()
            .map(|(keys, says)| Line::from(format!("{keys:<12}{says}")))
            .collect();
        let size = (46.min(area.width), (HELP.len() as u16 + 2).min(area.height));
        let place = Rect {
            x: area.x + (area.width - size.0) / 2,
            y: area.y + (area.height - size.1) / 2,
            width: size.0,
            height: size.1,
        };
        frame.render_widget(Clear, place);
        let help = Paragraph::new(lines).wrap(Wrap { trim: false });
        frame.render_widget(help.block(Block::bordered().title(" keys ")), place);
    }
}

fn panes(area: Rect) -> [Rect; 2] {
    match area.width >= LEAST_SIDE_BY_SIDE {
        true => {
            Layout::horizontal([Constraint::Length(LIST_WIDTH), Constraint::Min(0)]).areas(area)
        }
        false => {
            Layout::vertical([Constraint::Percentage(30), Constraint::Percentage(70)]).areas(area)
        }
    }
}

fn bar(standing: &Standing) -> String {
    let session = &standing.session;
    let (done, all) = match standing.progress() {
        Some(_) => (session.completed_task_count, session.task_count),
        None => (session.iteration_count, session.max_iterations),
    };
    let (done, all) = (done.max(0), all.max(1));
    let filled = usize::try_from(done.min(all) * BAR_CHARS as i64 / all).unwrap_or(0);
    format!("{}{}", "█".repeat(filled), "░".repeat(BAR_CHARS - filled))
}
