//! The two older contracts, as they stand, over the same engine: a question that is waited for (`agent-harness`), its answer by a person
//! (`-resume`, and `agent-human-response`), and how it stands (`-status`). Who writes something new uses `/v1`.

use super::Api;
use super::act::{ONCE, done_all_the_same, keyed, some_words};
use super::call::Call;
use super::problem::Problem;
use super::reply::Reply;
use super::route::Route;
use super::sessions::{MAX_WAIT_SECONDS, ONE_SESSION, admit, key_of, key_schema, with_key};
use super::wait::Rest;
use crate::clock::{iso, now_ms};
use crate::engine::mission::AUTO;
use crate::model::request::Request;
use crate::model::session::{InvalidStep, SessionState, SessionStep, Trigger};
use crate::model::task::TaskState;
use crate::model::token::Scope;
use crate::store::driver::Sql;
use crate::store::humans::{AskedSomethingElse, HumanRequest};
use crate::store::{humans, sessions, tasks};
use crate::trigger::answer as answers;
use crate::trigger::intake::Origin;
use anyhow::bail;
use hyper::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;
use std::time::Duration;

/// Who asks, kept as labels.
const LABELS: [&str; 3] = ["notebook_id", "user_id", "conversation_id"];
/// Taken for the contract's sake and without effect: who answers, and how, is the daemon's configuration.
const WITHOUT_EFFECT: [&str; 2] = ["inference_config", "system_prompts"];

/// A question. Every other key of a request is taken too.
#[derive(Deserialize, JsonSchema)]
struct Question {
    /// The objective.
    #[schemars(regex(pattern = r"\S"))]
    #[expect(dead_code, reason = "the schema's only; the body is read as a request")]
    question: String,
}

#[derive(Deserialize, JsonSchema)]
struct Resume {
    session_id: String,
    #[schemars(regex(pattern = r"\S"))]
    human_response: String,
}

#[derive(Deserialize, JsonSchema)]
struct HumanResponse {
    session_id: String,
    task_id: Option<String>,
    response: Json,
}

/// A session that ended, or that is still under way when the wait is over.
#[derive(Serialize, JsonSchema)]
struct Outcome {
    success: bool,
    session_id: String,
    status: SessionState,
    answer: Option<String>,
    /// How the answer was come by.
    summary: Option<String>,
    tasks_completed: i64,
    tasks_failed: i64,
    duration_ms: i64,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// A session that waits for a person.
#[derive(Serialize, JsonSchema)]
struct Asking {
    session_id: String,
    status: SessionState,
    question: String,
    options: Vec<String>,
    context: Context,
}

#[derive(Serialize, JsonSchema)]
struct Context {
    task_id: Option<String>,
    task_failed: Option<String>,
    error: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Answered {
    Ended(Outcome),
    Asking(Asking),
}

#[derive(Serialize, JsonSchema)]
struct Status {
    session_id: String,
    status: SessionState,
    progress: Progress,
    created_at: String,
}

#[derive(Serialize, JsonSchema)]
struct Progress {
    total_tasks: i64,
    completed: i64,
    failed: i64,
    current_task: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Taken {
    success: bool,
    session_id: String,
    status: SessionState,
}

pub fn routes() -> Vec<Route> {
    let wait = json!({ "type": "integer", "minimum": 0, "maximum": MAX_WAIT_SECONDS });
    let waits = "How many seconds to wait for the result; an hour where nothing is said.";
    let id = json!({ "type": "string", "minLength": 1 });
    vec![
        Route::new(
            Method::POST,
            "/webhook/agent-harness",
            "harness",
            "Ask a question, and wait for its answer.",
            |api, call| Box::pin(ask(api, call)),
        )
        .needs(Scope::Submit)
        .header("Idempotency-Key", key_schema(), ONE_SESSION)
        .query("wait", wait.clone(), waits)
        .takes::<Question>()
        .answers::<Answered>(
            StatusCode::OK,
            "It has ended, is paused, or waits for a person.",
        )
        .answers::<Answered>(StatusCode::ACCEPTED, "It is still under way."),
        Route::new(
            Method::POST,
            "/webhook/agent-harness-resume",
            "harness_resume",
            "Answer what a session asks, and wait for its result.",
            |api, call| Box::pin(resume(api, call)),
        )
        .needs(Scope::Act)
        .header("Idempotency-Key", key_schema(), ONCE)
        .query("wait", wait, waits)
        .takes::<Resume>()
        .answers::<Answered>(
            StatusCode::OK,
            "It has ended, is paused, or waits for a person again.",
        )
        .answers::<Answered>(StatusCode::ACCEPTED, "It is still under way."),
        Route::new(
            Method::GET,
            "/webhook/agent-harness-status",
            "harness_status",
            "How far a session is.",
            |api, call| Box::pin(status(api, call)),
        )
        .needs(Scope::Read)
        .query("session_id", id, "The session; it must be given.")
        .answers::<Status>(StatusCode::OK, "How far it is."),
        Route::new(
            Method::POST,
            "/webhook/agent-human-response",
            "human_response",
            "Answer what a task asks; the session goes on.",
            |api, call| Box::pin(human_response(api, call)),
        )
        .needs(Scope::Act)
        .header("Idempotency-Key", key_schema(), ONCE)
        .takes::<HumanResponse>()
        .answers::<Taken>(StatusCode::OK, "The answer was taken."),
    ]
}

async fn ask(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let request = with_key(request_of(call.json()?)?, &call)?;
    let longest = longest(&call)?;
    let created = admit(&api, request, Origin::new(Trigger::Api)).await?;
    wait_for_rest(&api, created.id(), longest).await
}

/// What comes of a session that was made or answered.
async fn wait_for_rest(api: &Arc<Api>, id: &str, longest: Duration) -> Result<Reply, Problem> {
    let rest = api.rest_of(id, longest).await;
    let rest = rest.map_err(|_| done_all_the_same())?;
    answer(api, rest).await
}

fn longest(call: &Call) -> Result<Duration, Problem> {
    let seconds = call.number("wait", 0..=MAX_WAIT_SECONDS)?;
    let seconds = seconds.unwrap_or(MAX_WAIT_SECONDS);
    Ok(Duration::from_secs(seconds.unsigned_abs()))
}

/// The request that a question is: planned, unless it says otherwise.
fn request_of(mut body: Map<String, Json>) -> Result<Request, Problem> {
    let question = match body.shift_remove("question") {
        Some(Json::String(text)) if !text.trim().is_empty() => text,
        None => return Err(Problem::unfit("question: is missing")),
        Some(_) => return Err(Problem::unfit("question: must be a text that is not blank")),
    };
    for key in WITHOUT_EFFECT {
        body.shift_remove(key);
    }
    let mut labels: Map<String, Json> = Map::new();
    for key in LABELS {
        match body.shift_remove(key) {
            None | Some(Json::Null) => {}
            Some(Json::String(text)) => drop(labels.insert(key.to_owned(), text.into())),
            Some(other) => drop(labels.insert(key.to_owned(), other.to_string().into())),
        }
    }
    body.insert("objective".to_owned(), question.into());
    body.entry("plan").or_insert(AUTO.into());
    if !labels.is_empty() {
        // What is no object is left as it is: what is wrong with it is said below.
        if let Json::Object(own) = body.entry("labels").or_insert_with(|| json!({})) {
            labels.extend(std::mem::take(own));
            *own = labels;
        }
    }
    Ok(Request::from_json(&Json::from(body).to_string())?)
}

async fn resume(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let body: Resume = call.json()?;
    let longest = longest(&call)?;
    let id = give(&api, &call, body.session_id, None, body.human_response).await?;
    wait_for_rest(&api, &id, longest).await
}

async fn human_response(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let body: HumanResponse = call.json()?;
    let words = match &body.response {
        Json::String(text) => text.clone(),
        Json::Object(fields) => match fields.get("selected_option").or(fields.get("text")) {
            Some(Json::String(text)) => text.clone(),
            _ => {
                return Err(Problem::unfit(
                    "response: must have the text selected_option",
                ));
            }
        },
        _ => return Err(Problem::unfit("response: must be an object or a text")),
    };
    let id = give(&api, &call, body.session_id, body.task_id, words).await?;
    let status = api.look(&id).await?.standing.session.status;
    Ok(Reply::ok(&Taken {
        success: true,
        session_id: id,
        status,
    }))
}

/// Gives a person's answer to the session, or to the sub-agent of it that asks; returns the session that was named.
async fn give(
    api: &Arc<Api>,
    call: &Call,
    given: String,
    task: Option<String>,
    words: String,
) -> Result<String, Problem> {
    let words = some_words("the answer", words)?;
    let key = key_of(call)?;
    let given = api.house.store.write(move |sql| {
        let id = sessions::resolve(sql, &given)?;
        keyed(sql, key.as_deref(), "answer", &id, |sql| {
            let (asker, asked) = asking(sql, &id)?;
            if task.is_some() && task != asked.task_id {
                bail!(AskedSomethingElse);
            }
            let answer = answers::Answer {
                session: asker,
                answer: words.clone(),
                question: Some(asked.id),
            };
            answers::settle(sql, &answer).map(drop)
        })?;
        Ok(id)
    });
    Ok(given.await?)
}

/// Who asks, the session itself or a sub-agent of it, and what.
fn asking(sql: &mut dyn Sql, id: &str) -> anyhow::Result<(String, HumanRequest)> {
    if let Some(asked) = humans::waiting(sql, id)? {
        return Ok((id.to_owned(), asked));
    }
    if let Some(child) = sessions::asking_below(sql, id)?
        && let Some(asked) = humans::waiting(sql, &child.id)?
    {
        return Ok((child.id, asked));
    }
    let state = sessions::expect(sql, id)?.status;
    bail!(InvalidStep {
        from: state.as_str(),
        step: SessionStep::Answer.as_str(),
    })
}

/// The answer as the contract has it.
async fn answer(api: &Arc<Api>, rest: Rest) -> Result<Reply, Problem> {
    if let Some(asker) = &rest.asking {
        let asker = asker.id.clone();
        let (asked, task) = api
            .house
            .store
            .read(move |sql| {
                let asked = humans::waiting(sql, &asker)?;
                let task = asked.as_ref().and_then(|asked| asked.task_id.clone());
                let task = task.map(|task| tasks::get(sql, &task)).transpose()?;
                Ok((asked, task.flatten()))
            })
            .await?;
        if let Some(asked) = asked {
            return Ok(Reply::ok(&Answered::Asking(Asking {
                session_id: rest.standing.session.id,
                status: SessionState::AwaitingHuman,
                question: asked.question,
                options: asked.options,
                context: Context {
                    task_id: asked.task_id,
                    task_failed: task.map(|task| task.task.description),
                    error: asked.error,
                },
            })));
        }
    }
    let code = match rest.is_reached() {
        true => StatusCode::OK,
        false => StatusCode::ACCEPTED,
    };
    Ok(Reply::json(code, &Answered::Ended(outcome(rest))))
}

fn outcome(rest: Rest) -> Outcome {
    let session = rest.standing.session;
    let plan = session.plan.as_ref();
    let summary = plan.and_then(|plan| plan.get("plan_summary")?.as_str());
    Outcome {
        success: session.status == SessionState::Completed,
        summary: summary.map(str::to_owned),
        answer: session.final_answer,
        tasks_completed: session.completed_task_count,
        tasks_failed: session.failed_task_count,
        duration_ms: session.ended_at_ms.unwrap_or_else(now_ms) - session.created_at_ms,
        error: match session.status {
            SessionState::Failed | SessionState::Cancelled => session.end_detail,
            _ => None,
        },
        status: session.status,
        session_id: session.id,
    }
}

async fn status(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let given = call.text("session_id").unwrap_or_default().to_owned();
    if given.is_empty() {
        return Err(Problem::unfit("session_id: is missing"));
    }
    let status = api
        .house
        .store
        .read(move |sql| {
            let id = sessions::resolve(sql, &given)?;
            let session = sessions::expect(sql, &id)?;
            let tasks = tasks::for_people(sql, &id)?;
            let running = |state| tasks.iter().find(|task| task.task.status == state);
            let current = running(TaskState::Running).or(running(TaskState::HumanRequired));
            Ok(Status {
                progress: Progress {
                    total_tasks: session.task_count,
                    completed: session.completed_task_count,
                    failed: session.failed_task_count,
                    current_task: current.map(|task| task.task.description.clone()),
                },
                created_at: iso(session.created_at_ms),
                status: session.status,
                session_id: session.id,
            })
        })
        .await?;
    Ok(Reply::ok(&status))
}
