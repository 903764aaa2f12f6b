//! `ralphd show ID`: everything a person wants to know of one session, and what to do next. It only looks.

mod notices;
mod plan;

use super::arguments::Which;
use super::desk::Desk;
use super::exit::Exit;
use super::output::{self, Look, Style, harmless, harmless_lines};
use super::submit::ways_to_answer;
use super::table::{Cell, Table};
use crate::clock::now_ms;
use crate::model::id::short;
use crate::model::limit::Limit;
use crate::model::session::{EndReason, SessionState};
use crate::report::changes::{Changes, Traces, changes};
use crate::report::standing::Standing;
use crate::report::wording::{
    exit_in_words, reason_in_words, taker, verdict_in_words, verify_in_words,
};
use crate::store::humans::{self, HumanRequest, HumanStatus};
use crate::store::iterations::{self, Iteration};
use crate::store::notices::Notice;
use crate::store::sessions;
use crate::store::tasks::{self, Assignment};
use crate::store::{self, driver::Sql};
use anyhow::Result;
use serde_json::json;
use std::path::Path;

const TITLES: &[&str] = &[
    "#",
    "TASK",
    "AGENT",
    "VERDICT",
    "COUNTED",
    "EXIT",
    "VERIFY",
    "TOOK",
    "COST",
    "LAST WORDS",
];

/// All rows of one session.
struct Whole {
    standing: Standing,
    tasks: Vec<Assignment>,
    /// Sessions of sub-agents.
    children: Vec<Standing>,
    iterations: Vec<Iteration>,
    humans: Vec<HumanRequest>,
    notices: Vec<Notice>,
    traces: Traces,
    /// What it did to the files.
    changes: Option<Changes>,
}

/// Prints one session.
pub fn show(desk: Desk, which: &Which) -> Result<Exit> {
    let store = desk.existing_store()?;
    let given = which.id.clone();
    let whole = desk.block_on(async {
        let mut whole = store.read(move |sql| Whole::find(sql, &given)).await?;
        let (session, mask) = (&whole.standing.session, desk.secrets.mask());
        let found = changes(&desk.git(), &desk.state, session, &whole.traces, &mask).await;
        whole.changes = found;
        Ok(whole)
    })?;
    if desk.global.json {
        output::print_json(&json!({
            "session": whole.standing,
            "tasks": whole.tasks,
            "children": whole.children,
            "iterations": whole.iterations,
            "humans": whole.humans,
            "notices": whole.notices,
            "changes": whole.changes,
        }))?;
    } else {
        output::print_lines(&whole.lines(&desk.state, &Look::of_stdout(), now_ms()))?;
    }
    Ok(Exit::Done)
}

impl Whole {
    fn find(sql: &mut dyn Sql, given: &str) -> Result<Self> {
        let id = sessions::resolve(sql, given)?;
        let session = sessions::expect(sql, &id)?;
        let standing = Standing::of(sql, session)?;
        let children = sessions::of_parent(sql, &id)?.into_iter();
        let children = children
            .map(|child| Standing::of(sql, child))
            .collect::<Result<_>>()?;
        Ok(Self {
            standing,
            tasks: tasks::for_people(sql, &id)?,
            children,
            iterations: iterations::of_session(sql, &id)?,
            humans: humans::of_session(sql, &id)?,
            notices: store::notices::of_session(sql, &id)?,
            traces: Traces::find(sql, &id)?,
            changes: None,
        })
    }

    fn lines(&self, state: &Path, look: &Look, now_ms: i64) -> Vec<String> {
        let mut lines = self.facts(state, look, now_ms);
        let session = &self.standing.session;
        section(&mut lines, look, "Objective", &session.objective);
        let planned = self.planned();
        if let Some(summary) = self.plan_summary() {
            section(&mut lines, look, "Plan", summary);
        }
        if !planned.is_empty() {
            lines.extend([String::new(), look.paint(Style::Bold, "Tasks")]);
            lines.extend(plan::tasks(planned, now_ms).lines(look));
        }
        if !self.children.is_empty() {
            lines.extend([String::new(), look.paint(Style::Bold, "Sub-agents")]);
            lines.extend(plan::children(&self.children, planned, now_ms).lines(look));
        }
        if !self.iterations.is_empty() {
            lines.extend([String::new(), look.paint(Style::Bold, "Iterations")]);
            lines.extend(self.iteration_table(now_ms).lines(look));
        }
        let changes = self.change_lines();
        if !changes.is_empty() {
            lines.extend([String::new(), look.paint(Style::Bold, "Files")]);
            lines.extend(changes);
        }
        if !self.humans.is_empty() {
            lines.extend([String::new(), look.paint(Style::Bold, "Questions")]);
            lines.extend(
                self.humans
                    .iter()
                    .flat_map(|asked| question_lines(asked, now_ms)),
            );
        }
        if !self.notices.is_empty() {
            lines.extend([String::new(), look.paint(Style::Bold, "Notices")]);
            lines.extend(notices::notices(&self.notices, now_ms).lines(look));
        }
        if let Some(answer) = &session.final_answer {
            let title = match session.status {
                SessionState::Completed => "Answer",
                _ if self.standing.planned.is_some() => "So far",
                _ => "Last words",
            };
            section(&mut lines, look, title, answer);
        }
        let hint = self.way_on();
        if !hint.is_empty() {
            lines.push(String::new());
            lines.extend(hint.iter().map(|line| look.paint(Style::Notice, line)));
        }
        lines
    }

    fn change_lines(&self) -> Vec<String> {
        let particulars = self.changes.iter().flat_map(Changes::particulars);
        particulars
            .map(|(name, value)| format!("{:<10}  {}", name.to_lowercase(), harmless(&value)))
            .collect()
    }

    /// The short facts, one on a line under its name.
    fn facts(&self, state: &Path, look: &Look, now_ms: i64) -> Vec<String> {
        let session = &self.standing.session;
        let (status, style) = self.standing.in_words(now_ms);
        let reason = |reason| match (reason, &self.standing.planned) {
            (EndReason::Completed, Some(_)) => "the plan was worked through".to_owned(),
            _ => reason_in_words(reason, session.end_detail.as_deref()),
        };
        let iterations = format!("{} of {}", session.iteration_count, session.max_iterations);
        let trigger = format!("{} ({})", session.trigger, session.origin);
        let cost = (session.cost_usd > 0.0).then(|| output::money(session.cost_usd));
        let logs = state.join("logs").join(&session.id);
        let mut facts = vec![
            ("session", Some(session.id.clone()), Style::Bold),
            ("status", Some(status), style),
            ("reason", session.end_reason.map(reason), Style::Plain),
            ("agent", Some(self.worker(now_ms)), Style::Plain),
            ("tasks", self.standing.progress(), Style::Plain),
            ("iterations", Some(iterations), Style::Plain),
            ("parent", session.parent_session_id.clone(), Style::Plain),
            ("trigger", Some(trigger), Style::Plain),
            ("follows", session.follows_session_id.clone(), Style::Plain),
        ];
        facts.extend(self.times(now_ms));
        facts.extend([
            ("cost", cost, Style::Plain),
            ("workspace", Some(session.workspace.clone()), Style::Plain),
            ("logs", Some(logs.display().to_string()), Style::Plain),
        ]);
        let known = facts
            .into_iter()
            .filter_map(|(name, value, style)| Some((name, value?, style)));
        known
            .map(|(name, value, style)| {
                let name = look.paint(Style::Dim, &format!("{name:<10}"));
                format!("{name}  {}", look.paint(style, &harmless(&value)))
            })
            .collect()
    }

    /// Who works on it, and while one stands in for another, until when.
    fn worker(&self, now_ms: i64) -> String {
        let (worker, own) = (self.standing.worker(), &self.standing.session.agent);
        let by_own =
            |iteration: &&Iteration| iteration.agent.as_ref().is_none_or(|agent| agent == own);
        let last = self.iterations.iter().rev().find(by_own);
        let limit = last.and_then(|last| {
            let (class, until_ms) = (last.failure_class?, last.reset_at_ms?);
            Some(Limit { class, until_ms }).filter(|limit| limit.holds(now_ms))
        });
        match limit {
            Some(limit) if worker != *own => {
                let until = output::clock_time(limit.until_ms, now_ms);
                format!("{worker}, {} until {until}", limit.of(own))
            }
            _ => worker,
        }
    }

    fn times(&self, now_ms: i64) -> [(&'static str, Option<String>, Style); 4] {
        let session = &self.standing.session;
        let began = session.started_at_ms.unwrap_or(session.created_at_ms);
        let ended = session.ended_at_ms.map(|time| {
            let took = output::duration(time - began);
            format!("{}, after {took}", output::local_time(time))
        });
        let parked = self
            .standing
            .parked_until_ms
            .filter(|until| *until > now_ms);
        let parked = parked.map(|until| format!("until {}", output::local_time(until)));
        let created = output::local_time(session.created_at_ms);
        [
            ("created", Some(created), Style::Plain),
            (
                "started",
                session.started_at_ms.map(output::local_time),
                Style::Plain,
            ),
            ("ended", ended, Style::Plain),
            ("parked", parked, Style::Notice),
        ]
    }

    /// The tasks of the plan; none of a plain session.
    fn planned(&self) -> &[Assignment] {
        match self.standing.planned {
            Some(_) => &self.tasks,
            None => &[],
        }
    }

    fn plan_summary(&self) -> Option<&str> {
        let plan = self.standing.session.plan.as_ref()?;
        plan["plan_summary"]
            .as_str()
            .filter(|summary| !summary.trim().is_empty())
    }

    fn was_rejected(&self) -> bool {
        let context = self.standing.session.human_context.as_ref();
        context.is_some_and(|context| context.get("rejected").is_some())
    }

    fn iteration_table(&self, now_ms: i64) -> Table {
        let mut table = Table::new(TITLES, TITLES.len() - 1);
        let own = &self.standing.session.agent;
        let taker = |iteration: &Iteration| taker(iteration, own);
        // A column that is empty throughout is left out.
        let alone = self
            .iterations
            .iter()
            .all(|iteration| taker(iteration) == *own);
        for iteration in &self.iterations {
            let agent = if alone {
                String::new()
            } else {
                taker(iteration)
            };
            let task = plan::order_of(self.planned(), &iteration.task_id);
            table.row(iteration_row(
                iteration,
                task.unwrap_or_default(),
                agent,
                now_ms,
            ));
        }
        table
    }

    /// What a person can do now.
    fn way_on(&self) -> Vec<String> {
        let session = &self.standing.session;
        let id = short(&session.id);
        match (session.status, session.end_reason) {
            (SessionState::AwaitingHuman, _) => {
                let waiting = |asked: &&HumanRequest| asked.status == HumanStatus::Waiting;
                ways_to_answer(id, self.humans.iter().find(waiting))
            }
            (SessionState::Paused, _) if self.was_rejected() => vec![
                format!("be asked again: ralphd resume {id}"),
                format!("end it:         ralphd cancel {id}"),
            ],
            (SessionState::Paused, _) => vec![format!("go on: ralphd resume {id}")],
            (_, Some(reason)) if reason.is_limit() => vec![
                format!("go on from here: ralphd continue {id} --max-iterations 10"),
                format!("start afresh:    ralphd retry {id}"),
            ],
            (SessionState::Failed | SessionState::Cancelled, _) => vec![
                format!("go on from here: ralphd continue {id}"),
                format!("start afresh:    ralphd retry {id}"),
            ],
            _ => Vec::new(),
        }
    }
}

fn section(lines: &mut Vec<String>, look: &Look, title: &str, text: &str) {
    lines.extend([String::new(), look.paint(Style::Bold, title)]);
    lines.extend(harmless_lines(text.trim()).lines().map(str::to_owned));
}

fn iteration_row(iteration: &Iteration, task: String, agent: String, now_ms: i64) -> Vec<Cell> {
    let (verdict, style) = verdict_in_words(iteration);
    let verify: Cell = match verify_in_words(iteration) {
        Some((words, style)) => (words.to_owned(), style).into(),
        None => "".into(),
    };
    let counted = match (iteration.verdict, iteration.counted) {
        (None, _) => "",
        (_, true) => "yes",
        (_, false) => "no",
    };
    let said = iteration
        .failure_detail
        .as_deref()
        .or(iteration.final_text.as_deref());
    let cost = iteration.cost_usd.map(output::money).unwrap_or_default();
    vec![
        iteration.number.to_string().into(),
        task.into(),
        agent.into(),
        (verdict.to_owned(), style).into(),
        counted.into(),
        exit_in_words(iteration).into(),
        verify,
        output::duration(iteration.ended_at_ms.unwrap_or(now_ms) - iteration.started_at_ms).into(),
        cost.into(),
        output::last_line(said.unwrap_or_default()).into(),
    ]
}

fn question_lines(asked: &HumanRequest, now_ms: i64) -> Vec<String> {
    let question = harmless_lines(asked.question.trim()).replace('\n', "\n    ");
    let mut lines = vec![format!(
        "{}  {question}",
        output::local_time(asked.asked_at_ms)
    )];
    if let Some(error) = &asked.error {
        let error = harmless_lines(error.trim()).replace('\n', "\n             ");
        lines.push(format!("    because: {error}"));
    }
    for (position, option) in asked.options.iter().enumerate() {
        lines.push(format!("    [{}] {}", position + 1, harmless(option)));
    }
    lines.push(match (&asked.answer, asked.status) {
        (Some(reason), HumanStatus::Rejected) => format!(
            "    rejected: {}",
            harmless_lines(reason).replace('\n', "\n    ")
        ),
        (Some(answer), _) => format!(
            "    answered: {}",
            harmless_lines(answer).replace('\n', "\n    ")
        ),
        (None, HumanStatus::Waiting) => {
            let left = output::duration(asked.expires_at_ms - now_ms);
            format!(
                "    waits for an answer until {} ({left} left)",
                output::local_time(asked.expires_at_ms)
            )
        }
        (None, status) => format!("    {status}"),
    });
    lines
}
