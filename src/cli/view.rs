//! The frames of the live view: rows of the database and the ends of log files in, lines of text out.
//! Pure but for the look at the log files; every line fits the width.

use super::output::{self, Look, Style, cut, harmless};
use crate::files;
use crate::model::id::short;
use crate::model::session::SessionState;
use crate::report::standing::Standing;
use crate::store::driver::Sql;
use crate::store::iterations::{self, Iteration};
use crate::store::sessions::{self, Session, Wanted};
use anyhow::Result;
use std::path::Path;

const SPINNER: &[&str] = &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const BAR_CHARS: usize = 20;
/// How much of a log's end is looked at for its last lines.
const TAIL_BYTES: u64 = 16 * 1024;
const MAX_OPEN: u32 = 64;
/// Among so many of the newest sessions the ended ones are looked for.
const MAX_LOOKED_AT: u32 = 32;
const MAX_ENDED: usize = 8;
const OUTPUT_LINES: usize = 3;
/// The two lines of a block that are always there, and the empty one after it.
const BLOCK_LINES: usize = 3;
/// A piece of a line that would be cut below this is left out.
const LEAST_PIECE_CHARS: usize = 12;

/// What is known of one session at the time of a frame.
pub struct Glance {
    pub standing: Standing,
    /// The newest iteration.
    pub last: Option<Iteration>,
}

impl Glance {
    /// Looks at a session.
    pub fn of(sql: &mut dyn Sql, session: Session) -> Result<Self> {
        let last = iterations::last(sql, &session.id)?;
        Ok(Self {
            standing: Standing::of(sql, session)?,
            last,
        })
    }
}

/// What is known of all sessions.
pub struct Overview {
    pub open: Vec<Glance>,
    pub open_count: i64,
    pub ended: Vec<Standing>,
}

impl Overview {
    /// Looks at the open sessions, and at those that ended of late.
    pub fn of(sql: &mut dyn Sql) -> Result<Self> {
        let open = sessions::open(sql, MAX_OPEN)?;
        let open = open
            .into_iter()
            .map(|session| Glance::of(sql, session))
            .collect::<Result<_>>()?;
        let mut ended = sessions::list(sql, &Wanted::default(), MAX_LOOKED_AT)?;
        ended.retain(|session| session.status.is_terminal());
        ended.sort_by_key(|session| std::cmp::Reverse(session.ended_at_ms));
        ended.truncate(MAX_ENDED);
        let ended = ended
            .into_iter()
            .map(|session| Standing::of(sql, session))
            .collect::<Result<_>>()?;
        Ok(Self {
            open,
            open_count: sessions::count_open(sql)?,
            ended,
        })
    }
}

/// The size, the colours, the moment.
#[derive(Clone, Copy)]
pub struct Frame {
    pub look: Look,
    pub width: usize,
    pub height: usize,
    pub now_ms: i64,
    pub count: usize,
}

impl Frame {
    /// The running sessions with the end of their output, the other open ones in a line each, and below them the last ended ones.
    pub fn overview(&self, all: &Overview) -> Vec<String> {
        let (running, waiting): (Vec<_>, Vec<_>) =
            all.open.iter().partition(|glance| glance.standing.runs());
        let mut lines = vec![self.head(all, running.len()), String::new()];
        let for_ended = if all.ended.is_empty() {
            0
        } else {
            all.ended.len().min(self.height / 4) + 2
        };
        // One line is kept for those that do not fit.
        let room = self.height.saturating_sub(lines.len() + for_ended + 1);
        let waiting_shown = waiting.len().min(
            room.saturating_sub(running.len() * BLOCK_LINES)
                .max(room / 4),
        );
        let for_running = room.saturating_sub(waiting_shown);
        let running_shown = running.len().min(for_running / BLOCK_LINES);
        let spare = for_running.saturating_sub(running_shown * BLOCK_LINES);
        let output_lines = spare
            .checked_div(running_shown)
            .unwrap_or(0)
            .min(OUTPUT_LINES);
        for glance in &running[..running_shown] {
            lines.extend(self.block(glance, output_lines));
            lines.push(String::new());
        }
        lines.extend(
            waiting[..waiting_shown]
                .iter()
                .map(|glance| self.waiting(glance)),
        );
        let hidden = all.open_count - (running_shown + waiting_shown) as i64;
        if hidden > 0 {
            lines.push(self.line(Style::Dim, &format!("… and {hidden} more")));
        }
        if all.open.is_empty() {
            lines.push(self.line(Style::Dim, "nothing is open"));
        }
        if !all.ended.is_empty() {
            lines.extend([String::new(), self.line(Style::Dim, "ended")]);
            let left = self.height.saturating_sub(lines.len());
            lines.extend(
                all.ended
                    .iter()
                    .take(left)
                    .map(|standing| self.ended(standing)),
            );
        }
        lines
    }

    /// One session, with as much of its output as fits.
    pub fn single(&self, glance: &Glance) -> Vec<String> {
        let room = self.height.saturating_sub(BLOCK_LINES + 1);
        let mut lines = self.block(glance, room);
        lines.push(String::new());
        lines.push(self.line(Style::Dim, "q leaves; the session goes on"));
        lines
    }

    fn head(&self, all: &Overview, running: usize) -> String {
        let clock = output::local_time_exact(self.now_ms);
        let text = format!(
            "ralphd  {clock}  {} open, {running} running  (q leaves)",
            all.open_count
        );
        self.line(Style::Bold, &text)
    }

    fn block(&self, glance: &Glance, output_lines: usize) -> Vec<String> {
        let mut lines = vec![
            self.status_line(glance),
            self.objective_line(&glance.standing.session),
        ];
        let running = glance
            .last
            .as_ref()
            .filter(|last| last.ended_at_ms.is_none());
        let shown = running
            .or(glance.last.as_ref())
            .filter(|_| output_lines > 0);
        if let Some(iteration) = shown {
            let tail = tail_of(Path::new(&iteration.output_file), output_lines);
            lines.extend(
                tail.iter()
                    .map(|line| self.line(Style::Dim, &format!("  │ {line}"))),
            );
        }
        lines
    }

    fn status_line(&self, glance: &Glance) -> String {
        let session = &glance.standing.session;
        let (status, style) = glance.standing.in_words(self.now_ms);
        let runs = glance.standing.runs();
        let mark = if runs {
            SPINNER[self.count % SPINNER.len()]
        } else {
            "·"
        };
        let since = session.started_at_ms.unwrap_or(session.created_at_ms);
        let until = session.ended_at_ms.unwrap_or(self.now_ms);
        let mut pieces = vec![
            Piece::whole(mark, Style::Active),
            Piece::whole(short(&session.id), Style::Bold),
            Piece::cuttable(status, style),
            Piece::whole(progress(&glance.standing, runs), Style::Plain),
            Piece::whole(bar(&glance.standing), Style::Active),
            Piece::whole(output::duration(until - since), Style::Plain),
            Piece::whole(glance.standing.worker(), Style::Dim),
        ];
        if session.cost_usd > 0.0 {
            pieces.push(Piece::whole(output::money(session.cost_usd), Style::Plain));
        }
        self.fit(&pieces)
    }

    fn waiting(&self, glance: &Glance) -> String {
        let session = &glance.standing.session;
        let (status, style) = glance.standing.in_words(self.now_ms);
        self.fit(&[
            Piece::whole("·", Style::Dim),
            Piece::whole(short(&session.id), Style::Bold),
            Piece::whole(done_of(&glance.standing), Style::Dim),
            Piece::cuttable(status, style),
            Piece::cuttable(output::first_line(&session.objective), Style::Plain),
        ])
    }

    fn ended(&self, standing: &Standing) -> String {
        let session = &standing.session;
        let (status, style) = standing.in_words(self.now_ms);
        let ago = output::age(self.now_ms - session.ended_at_ms.unwrap_or(self.now_ms));
        self.fit(&[
            Piece::whole("·", Style::Dim),
            Piece::whole(short(&session.id), Style::Bold),
            Piece::whole(format!("{ago} ago"), Style::Dim),
            Piece::cuttable(status, style),
            Piece::cuttable(output::first_line(&session.objective), Style::Plain),
        ])
    }

    /// As much of a line as the width holds: a piece that does not fit is cut where it may be, else left out.
    fn fit(&self, pieces: &[Piece]) -> String {
        let mut line = String::new();
        let mut room = self.width;
        for (position, piece) in pieces.iter().enumerate() {
            let gap = position.min(2);
            let chars = piece.text.chars().count();
            let least = if piece.cuttable {
                chars.min(LEAST_PIECE_CHARS)
            } else {
                chars
            };
            if room < gap + least || chars == 0 {
                continue;
            }
            let text = cut(&piece.text, room - gap);
            room -= gap + text.chars().count();
            line.push_str(&" ".repeat(gap));
            line.push_str(&self.look.paint(piece.style, &text));
        }
        line
    }

    fn objective_line(&self, session: &Session) -> String {
        self.line(
            Style::Plain,
            &format!("  {}", output::first_line(&session.objective)),
        )
    }

    fn line(&self, style: Style, text: &str) -> String {
        self.look.paint(style, &cut(&harmless(text), self.width))
    }
}

/// A part of a line.
struct Piece {
    text: String,
    style: Style,
    cuttable: bool,
}

impl Piece {
    fn whole(text: impl AsRef<str>, style: Style) -> Self {
        Self {
            text: harmless(text.as_ref()),
            style,
            cuttable: false,
        }
    }

    fn cuttable(text: impl AsRef<str>, style: Style) -> Self {
        Self {
            cuttable: true,
            ..Self::whole(text, style)
        }
    }
}

fn progress(standing: &Standing, runs: bool) -> String {
    let session = &standing.session;
    match (standing.progress(), runs) {
        // The status says it already.
        (Some(_), _) if session.status == SessionState::Executing => String::new(),
        (Some(tasks), _) => tasks,
        (None, _) if standing.planned.is_some() => String::new(),
        (None, true) => {
            let current = (session.iteration_count + 1).min(session.max_iterations);
            format!("iteration {current} of {}", session.max_iterations)
        }
        (None, false) => format!(
            "{} of {} iterations",
            session.iteration_count, session.max_iterations
        ),
    }
}

/// What is done, and of how much: tasks of a plan, or else iterations.
fn steps(standing: &Standing) -> (i64, i64) {
    let session = &standing.session;
    match standing.progress() {
        Some(_) => (session.completed_task_count, session.task_count),
        None => (session.iteration_count, session.max_iterations),
    }
}

fn done_of(standing: &Standing) -> String {
    let (done, all) = steps(standing);
    format!("{done}/{all}")
}

fn bar(standing: &Standing) -> String {
    let (done, all) = steps(standing);
    let (done, all) = (done.max(0), all.max(1));
    let filled = usize::try_from(done.min(all) * BAR_CHARS as i64 / all).unwrap_or(0);
    format!("{}{}", "█".repeat(filled), "░".repeat(BAR_CHARS - filled))
}

/// The last lines of a log; one that is not there yet has none.
fn tail_of(path: &Path, max_lines: usize) -> Vec<String> {
    let text = files::read_tail(path, TAIL_BYTES).unwrap_or_default();
    let mut lines: Vec<String> = text
        .lines()
        .rev()
        .filter(|line| !line.trim().is_empty())
        .take(max_lines)
        .map(harmless)
        .collect();
    lines.reverse();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look {
        terminal: true,
        colours: false,
        width: None,
    };

    fn frame(width: usize) -> Frame {
        Frame {
            look: LOOK,
            width,
            height: 24,
            now_ms: 0,
            count: 0,
        }
    }

    #[test]
    fn lines_never_exceed_the_width() {
        let pieces = [
            Piece::whole("*", Style::Active),
            Piece::whole("456789ab", Style::Bold),
            Piece::cuttable("parked until 03:00, usage limit\x1b", Style::Plain),
            Piece::whole("█".repeat(20), Style::Plain),
            Piece::whole("4s", Style::Plain),
        ];
        for (width, expected) in [
            (
                72,
                "* 456789ab  parked until 03:00, usage limit␛  ████████████████████  4s",
            ),
            (60, "* 456789ab  parked until 03:00, usage limit␛  4s"),
            (30, "* 456789ab  parked until 03:0…"),
            (23, "* 456789ab  4s"),
            (5, "*  4s"),
            (0, ""),
        ] {
            assert_eq!(frame(width).fit(&pieces), expected, "{width}");
        }
    }

    #[test]
    fn the_end_of_a_log() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("0001.log");
        assert!(tail_of(&path, 3).is_empty());
        std::fs::write(&path, "one\n\ntwo\n\x1b[2Jthree").unwrap();
        assert_eq!(tail_of(&path, 2), ["two", "␛[2Jthree"]);
    }
}
