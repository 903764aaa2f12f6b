//! What the page of a session tells, in words: everything by strangers is harmless from here on.

use super::iterations::{Strip, Turn};
use super::people::{Actions, Question};
use crate::api::dashboard::fields::label;
use crate::api::dashboard::graph::Graph;
use crate::api::dashboard::list::Row;
use crate::api::dashboard::log::{Piece, tail};
use crate::clock::{iso, local_time, now_ms};
use crate::model::amount::{duration, money};
use crate::model::budget;
use crate::model::event::EventType;
use crate::model::handoff;
use crate::model::harmless::{cut, first_line, harmless, harmless_lines};
use crate::model::id::short;
use crate::model::session::SessionState;
use crate::report::standing::Standing;
use crate::report::wording::{reason_in_words, task_in_words, worker_of};
use crate::store::driver::Sql;
use crate::store::events;
use crate::store::humans::{self, HumanRequest, HumanStatus};
use crate::store::iterations::{self, Iteration};
use crate::store::restore_points::{self, RestorePoint};
use crate::store::tasks::{self, Assignment};
use crate::store::{budgets, sessions};
use crate::workspace::git::Facts;
use anyhow::Result;
use serde::Serialize;
use serde_json::Value as Json;

/// Iterations on a page; older ones are on pages of their own.
const PAGE: u32 = 50;
const MAX_CALLS: u32 = 30;
const MAX_TITLE_CHARS: usize = 120;
const MAX_TEXT_CHARS: usize = 100_000;

#[derive(Serialize)]
pub struct SessionView {
    pub title: String,
    id: String,
    status: String,
    style: &'static str,
    reason: Option<String>,
    runs: bool,
    ended: bool,
    particulars: Vec<(&'static str, String)>,
    created_iso: String,
    progress: Option<Gauge>,
    objective: String,
    answer: Option<(&'static str, String)>,
    question: Option<Question>,
    earlier_questions: Vec<Question>,
    actions: Actions,
    agents: Vec<String>,
    gauges: Vec<Gauge>,
    plan_summary: Option<String>,
    graph: Option<Graph>,
    tasks: Vec<TaskRow>,
    children: Vec<Row>,
    strip: Strip,
    turns: Vec<Turn>,
    older: Option<i64>,
    newest: bool,
    calls: Vec<ToolCall>,
    log: Option<Piece>,
    handoff: Vec<String>,
    facts: Vec<String>,
    #[serde(skip)]
    last: Option<Iteration>,
}

/// How much is used of how much.
#[derive(Serialize)]
struct Gauge {
    name: String,
    words: String,
    used: f64,
    limit: f64,
}

#[derive(Serialize)]
struct TaskRow {
    order: i64,
    kind: &'static str,
    description: String,
    status: String,
    style: &'static str,
    agent: String,
    after: String,
    result: String,
}

#[derive(Serialize)]
struct ToolCall {
    name: String,
    about: String,
    failed: bool,
    took: Option<String>,
    at: String,
}

impl SessionView {
    pub fn of(sql: &mut dyn Sql, id: &str, before: Option<i64>, agents: &[String]) -> Result<Self> {
        let now_ms = now_ms();
        let session = sessions::expect(sql, id)?;
        let standing = Standing::of(sql, session)?;
        let session = &standing.session;
        let (status, style) = standing.in_words(now_ms);
        let mut turns = iterations::before(sql, id, before.unwrap_or(i64::MAX), PAGE + 1)?;
        let more = turns.len() > PAGE as usize;
        turns.truncate(PAGE as usize);
        let older = turns.last().map(|turn| turn.number).filter(|_| more);
        let (newest, changing) = (
            restore_points::current(sql, id)?,
            restore_points::changing(sql, id)?,
        );
        let planned = match standing.planned {
            Some(_) => tasks::for_people(sql, id)?,
            None => Vec::new(),
        };
        let asked = humans::of_session(sql, id)?;
        let (open, earlier): (Vec<_>, Vec<_>) = asked
            .iter()
            .partition(|asked| asked.status == HumanStatus::Waiting);
        let question = |asked: &HumanRequest| Question::of(asked, now_ms);
        let last = iterations::last(sql, id)?;
        let children = sessions::of_parent(sql, id)?.into_iter().map(|child| {
            let standing = Standing::of(sql, child)?;
            Ok(Row::of(&standing, now_ms))
        });
        let children = children.collect::<Result<_>>()?;
        let calls = events::newest(sql, id, EventType::ToolCalled, MAX_CALLS)?;
        Ok(Self {
            title: cut(&first_line(&session.objective), MAX_TITLE_CHARS),
            id: id.to_owned(),
            status,
            style: style.as_str(),
            reason: session.end_reason.map(|reason| {
                harmless_lines(&reason_in_words(reason, session.end_detail.as_deref()))
            }),
            runs: standing.runs(),
            ended: session.status.is_terminal(),
            particulars: particulars(&standing, now_ms),
            created_iso: iso(session.created_at_ms),
            progress: progress(&standing),
            objective: long(&session.objective),
            answer: answer(&standing),
            question: open.first().map(|asked| question(asked)),
            earlier_questions: earlier.into_iter().map(question).collect(),
            actions: Actions::of(&standing, newest.as_ref()),
            agents: agents.to_vec(),
            gauges: gauges(sql, &standing, now_ms)?,
            plan_summary: plan_summary(&standing),
            graph: Graph::of(&planned, now_ms),
            tasks: planned.iter().map(|one| TaskRow::of(one, now_ms)).collect(),
            children,
            strip: Strip::of(&turns, now_ms),
            turns: turns
                .iter()
                .map(|turn| Turn::of(turn, &session.agent, &planned, &changing, now_ms))
                .collect(),
            older,
            newest: before.is_none(),
            calls: calls
                .iter()
                .map(|event| ToolCall::of(&event.data, event.at_ms))
                .collect(),
            log: None,
            handoff: handoff_of(&turns),
            facts: facts_of(newest.as_ref()),
            last,
        })
    }

    /// Adds the end of the newest log, which is in a file.
    pub async fn read_log(&mut self) {
        let Some(last) = self.last.take() else {
            return;
        };
        self.log = tail(&last).await;
    }
}

/// Text that may be long, made harmless and kept from being endless.
pub fn long(text: &str) -> String {
    cut(&harmless_lines(text.trim()), MAX_TEXT_CHARS)
}

fn particulars(standing: &Standing, now_ms: i64) -> Vec<(&'static str, String)> {
    let session = &standing.session;
    let began = session.started_at_ms.unwrap_or(session.created_at_ms);
    let until = session.ended_at_ms.unwrap_or(now_ms);
    let parked = standing.parked_until_ms.filter(|until| *until > now_ms);
    let all = [
        ("Agent", Some(standing.worker())),
        ("Tasks", standing.progress()),
        (
            "Iterations",
            Some(format!(
                "{} of {}",
                session.iteration_count, session.max_iterations
            )),
        ),
        (
            "Cost",
            (session.cost_usd > 0.0).then(|| money(session.cost_usd)),
        ),
        ("Created", Some(local_time(session.created_at_ms))),
        ("Ended", session.ended_at_ms.map(local_time)),
        (
            "Took",
            session.started_at_ms.map(|_| duration(until - began)),
        ),
        (
            "Parked",
            parked.map(|until| format!("until {}", local_time(until))),
        ),
        (
            "Trigger",
            Some(format!("{} ({})", session.trigger, session.origin)),
        ),
        (
            "Follows",
            session
                .follows_session_id
                .as_deref()
                .map(|id| short(id).to_owned()),
        ),
        ("Workspace", Some(session.workspace.clone())),
        ("Session", Some(session.id.clone())),
    ];
    let known = all
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    known
        .map(|(name, value)| (name, harmless(&value)))
        .collect()
}

/// How far it is: by its plan where it has one.
fn progress(standing: &Standing) -> Option<Gauge> {
    let session = &standing.session;
    let words = standing.progress()?;
    Some(Gauge {
        name: "Progress".to_owned(),
        words,
        used: (session.completed_task_count + session.failed_task_count) as f64,
        limit: session.task_count.max(1) as f64,
    })
}

fn answer(standing: &Standing) -> Option<(&'static str, String)> {
    let session = &standing.session;
    let title = match session.status {
        SessionState::Completed => "Answer",
        _ if standing.planned.is_some() => "So far",
        _ => "Last words",
    };
    session
        .final_answer
        .as_deref()
        .map(|answer| (title, long(answer)))
}

fn plan_summary(standing: &Standing) -> Option<String> {
    let plan = standing.session.plan.as_ref()?;
    let summary = plan["plan_summary"].as_str()?.trim();
    (!summary.is_empty()).then(|| long(summary))
}

fn gauges(sql: &mut dyn Sql, standing: &Standing, now_ms: i64) -> Result<Vec<Gauge>> {
    let session = &standing.session;
    let mut gauges = vec![Gauge {
        name: "Iterations".to_owned(),
        words: format!("{} of {}", session.iteration_count, session.max_iterations),
        used: session.iteration_count as f64,
        limit: session.max_iterations as f64,
    }];
    let at_ms = session.ended_at_ms.unwrap_or(now_ms);
    for (kind, used, limit) in budgets::of_session(sql, &session.id, at_ms)? {
        gauges.push(Gauge {
            name: label(kind.as_str()),
            words: budget::in_words(kind, used, limit),
            used,
            limit,
        });
    }
    Ok(gauges)
}

fn handoff_of(newest_first: &[Iteration]) -> Vec<String> {
    let left = newest_first.iter().find_map(|turn| turn.handoff.as_ref());
    let lines = left.map(handoff::as_lines).unwrap_or_default();
    lines.iter().map(|line| harmless_lines(line)).collect()
}

fn facts_of(point: Option<&RestorePoint>) -> Vec<String> {
    let Some(point) = point else {
        return Vec::new();
    };
    let facts: Facts = serde_json::from_value(point.facts.clone()).unwrap_or_default();
    let mut lines = Vec::new();
    lines.extend(point.branch.iter().map(|branch| format!("branch {branch}")));
    lines.extend(facts.lines());
    lines.extend(point.remarks.iter().cloned());
    lines.iter().map(|line| harmless_lines(line)).collect()
}

impl TaskRow {
    fn of(one: &Assignment, now_ms: i64) -> Self {
        let task = &one.task;
        let (status, style) = task_in_words(task, now_ms);
        let after = one.step.as_ref().map(|step| step.depends_on.as_slice());
        let after = after.unwrap_or_default().iter().map(u32::to_string);
        let came_to = task
            .error_message
            .as_deref()
            .or(task.result_summary.as_deref());
        Self {
            order: task.task_order,
            kind: task.task_type.as_str(),
            description: first_line(&task.description),
            status,
            style: style.as_str(),
            agent: harmless(&worker_of(one)),
            after: after.collect::<Vec<_>>().join(", "),
            result: cut(&first_line(came_to.unwrap_or_default()), 300),
        }
    }
}

impl ToolCall {
    fn of(facts: &Json, at_ms: i64) -> Self {
        let text = |key: &str| facts[key].as_str().map(first_line).unwrap_or_default();
        Self {
            name: text("name"),
            about: cut(&text("about"), 200),
            failed: facts["ok"].as_bool() == Some(false),
            took: facts["duration_ms"].as_i64().map(duration),
            at: crate::clock::local_time_exact(at_ms),
        }
    }
}
