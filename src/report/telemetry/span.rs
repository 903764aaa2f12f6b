//! Spans from rows: one for the session, for each of its tasks, iterations and tool calls. Ids are made from those of the rows, so that
//! a trace that is sent twice is the same trace. It only looks.

use crate::config::Config;
use crate::config::agent::Provider;
use crate::model::iteration::Verdict;
use crate::model::session::SessionState;
use crate::model::task::TaskState;
use crate::store::census::Part;
use crate::store::driver::Sql;
use crate::store::events;
use crate::store::iterations::{self, Iteration};
use crate::store::sessions::{self, Session};
use crate::store::tasks::{self, Task};
use crate::store::tool_calls::{self, ToolCall};
use anyhow::Result;
use serde_json::{Value as Json, json};

/// A span of work inside the program, as OTLP numbers it.
const INTERNAL: u8 = 1;
const OK: u8 = 1;
const ERROR: u8 = 2;
const NANOSECONDS: i64 = 1_000_000;

/// The sessions that ended in a part of the history.
pub(super) fn ended(sql: &mut dyn Sql, part: Part) -> Result<Vec<String>> {
    events::ended_sessions(sql, part.after, part.upto)
}

/// All spans of a session; none where it is gone.
pub(super) fn of_session(sql: &mut dyn Sql, config: &Config, id: &str) -> Result<Vec<Json>> {
    let Some(session) = sessions::get(sql, id)? else {
        return Ok(Vec::new());
    };
    let maker = Maker {
        trace: hex(&sessions::root(sql, id)?),
        config,
        session: &session,
        ended_at_ms: session.ended_at_ms.unwrap_or(session.created_at_ms),
    };
    let mut spans = vec![maker.session()];
    spans.extend(
        tasks::of_session(sql, id)?
            .iter()
            .map(|task| maker.task(task)),
    );
    let iterations = iterations::of_session(sql, id)?;
    spans.extend(iterations.iter().map(|turn| maker.iteration(turn)));
    let calls = tool_calls::of_session(sql, id)?;
    spans.extend(calls.iter().map(|call| maker.tool_call(call)));
    Ok(spans)
}

/// What the spans of one session share.
struct Maker<'a> {
    trace: String,
    config: &'a Config,
    session: &'a Session,
    ended_at_ms: i64,
}

impl Maker<'_> {
    fn session(&self) -> Json {
        let session = self.session;
        // The work of a sub-agent hangs below the task that gave it.
        let parent = session.parent_task_id.as_deref();
        let times = (session.created_at_ms, self.ended_at_ms);
        let failed = session.status == SessionState::Failed;
        let mut attributes = vec![
            text("gen_ai.operation.name", "invoke_agent"),
            text("gen_ai.agent.name", &session.agent),
            text("gen_ai.conversation.id", &session.id),
            text("ralphd.session.id", &session.id),
            text("ralphd.session.status", session.status.as_str()),
            text("ralphd.session.trigger", session.trigger.as_str()),
            whole("ralphd.session.iterations", session.iteration_count),
            whole("gen_ai.usage.input_tokens", session.input_tokens),
            whole("gen_ai.usage.output_tokens", session.output_tokens),
            number("ralphd.cost_usd", session.cost_usd),
        ];
        attributes.extend(
            session
                .end_reason
                .map(|word| text("ralphd.session.end_reason", word.as_str())),
        );
        attributes.extend(
            session
                .verified
                .map(|word| text("ralphd.session.verified", word.as_str())),
        );
        self.span("session", &session.id, parent, times, failed, attributes)
    }

    fn task(&self, task: &Task) -> Json {
        let begun = task.started_at_ms.unwrap_or(self.session.created_at_ms);
        let times = (begun, task.ended_at_ms.unwrap_or(self.ended_at_ms));
        let failed = task.status == TaskState::Failed;
        let mut attributes = vec![
            text("ralphd.task.id", &task.id),
            text("ralphd.task.type", task.task_type.as_str()),
            text("ralphd.task.status", task.status.as_str()),
            whole("ralphd.task.order", task.task_order),
        ];
        attributes.extend(
            task.error_type
                .as_deref()
                .map(|kind| text("error.type", kind)),
        );
        let name = format!("task {}", task.task_type);
        self.span(
            &name,
            &task.id,
            Some(&self.session.id),
            times,
            failed,
            attributes,
        )
    }

    fn iteration(&self, turn: &Iteration) -> Json {
        let agent = turn.agent.as_deref().unwrap_or(&self.session.agent);
        let times = (
            turn.started_at_ms,
            turn.ended_at_ms.unwrap_or(self.ended_at_ms),
        );
        let failed = matches!(
            turn.verdict,
            Some(Verdict::Failed | Verdict::TimedOut | Verdict::DoomLoop | Verdict::Lost)
        );
        let configured = self.config.agents.get(agent);
        let system = configured.and_then(|agent| {
            let provider = agent.provider.map(|provider| match provider {
                Provider::Anthropic => "anthropic",
                Provider::Openai => "openai",
                Provider::Recorded => "recorded",
            });
            provider.or(agent.preset.as_deref())
        });
        let mut attributes = vec![
            text("gen_ai.operation.name", "invoke_agent"),
            text("gen_ai.system", system.unwrap_or(agent)),
            text("gen_ai.agent.name", agent),
            text("gen_ai.conversation.id", &self.session.id),
            whole("ralphd.iteration.number", turn.number),
            whole("ralphd.iteration.tool_calls", turn.tool_call_count),
        ];
        let model = configured.and_then(|agent| agent.model.as_deref());
        attributes.extend(model.map(|model| text("gen_ai.request.model", model)));
        attributes.extend(
            turn.verdict
                .map(|word| text("ralphd.iteration.verdict", word.as_str())),
        );
        attributes.extend(
            turn.input_tokens
                .map(|count| whole("gen_ai.usage.input_tokens", count)),
        );
        attributes.extend(
            turn.output_tokens
                .map(|count| whole("gen_ai.usage.output_tokens", count)),
        );
        attributes.extend(turn.cost_usd.map(|usd| number("ralphd.cost_usd", usd)));
        attributes.extend(
            turn.failure_class
                .map(|class| text("error.type", class.as_str())),
        );
        let name = format!("invoke_agent {agent}");
        self.span(
            &name,
            &turn.id,
            Some(&turn.task_id),
            times,
            failed,
            attributes,
        )
    }

    fn tool_call(&self, call: &ToolCall) -> Json {
        let times = (
            call.started_at_ms,
            call.started_at_ms + call.duration_ms.unwrap_or(0),
        );
        let attributes = vec![
            text("gen_ai.operation.name", "execute_tool"),
            text("gen_ai.tool.name", &call.name),
        ];
        let parent = call.iteration_id.as_deref().unwrap_or(&call.task_id);
        let name = format!("execute_tool {}", call.name);
        self.span(
            &name,
            &call.id,
            Some(parent),
            times,
            call.ok == Some(false),
            attributes,
        )
    }

    fn span(
        &self,
        name: &str,
        id: &str,
        parent: Option<&str>,
        (begun_ms, ended_ms): (i64, i64),
        failed: bool,
        attributes: Vec<Json>,
    ) -> Json {
        let nanoseconds = |ms: i64| ms.saturating_mul(NANOSECONDS).to_string();
        json!({
            "traceId": self.trace,
            "spanId": span_id(id),
            "parentSpanId": parent.map(span_id).unwrap_or_default(),
            "name": name,
            "kind": INTERNAL,
            "startTimeUnixNano": nanoseconds(begun_ms),
            "endTimeUnixNano": nanoseconds(ended_ms.max(begun_ms)),
            "attributes": attributes,
            "status": { "code": if failed { ERROR } else { OK } },
        })
    }
}

/// The digits of a UUID: as many as a trace has.
fn hex(id: &str) -> String {
    id.chars().filter(|letter| *letter != '-').collect()
}

/// Eight bytes that stand for an id: FNV-1a, for ids that differ in a few letters only.
fn span_id(id: &str) -> String {
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    // All zeros would be no id.
    format!("{:016x}", hash.max(1))
}

fn text(key: &str, value: &str) -> Json {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn whole(key: &str, value: i64) -> Json {
    // Whole numbers are texts in OTLP's JSON.
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn number(key: &str, value: f64) -> Json {
    json!({ "key": key, "value": { "doubleValue": value } })
}
