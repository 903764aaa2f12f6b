//! Sessions as a resource: submit, list, look. It only calls `trigger/intake` and reads rows.

use super::Api;
use super::call::{Call, unsupported};
use super::problem::Problem;
use super::reply::Reply;
use super::route::Route;
use crate::model::document::format;
use crate::model::request::Request;
use crate::model::session::{SessionState, Trigger};
use crate::model::token::Scope;
use crate::report::standing::Standing;
use crate::store::driver::Sql;
use crate::store::humans::HumanRequest;
use crate::store::iterations::Iteration;
use crate::store::sessions::{Created, Wanted};
use crate::store::tasks::Assignment;
use crate::store::{humans, iterations, sessions, tasks};
use crate::trigger::intake::{Origin, Reception, parse};
use hyper::header::{HeaderValue, LOCATION};
use hyper::{Method, StatusCode};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;
use std::time::Duration;

/// The longest that a call may wait for a result.
pub const MAX_WAIT_SECONDS: i64 = 3_600;
const PAGE: u32 = 50;
const MAX_PAGE: i64 = 200;
/// A page ends where it has grown to this: objectives and answers may be long.
const MAX_PAGE_BYTES: usize = 4 << 20;
/// Sessions that are read at a time for a page.
const READ_AT_ONCE: u32 = 16;
const KEY: &str = "idempotency-key";
const MAX_KEY_BYTES: usize = 255;
/// What an idempotency key does to a request.
pub const ONE_SESSION: &str =
    "Two requests with the same key become one session, whatever way they come.";

/// What became of a request.
#[derive(Serialize, JsonSchema)]
pub struct Submitted {
    pub session_id: String,
    /// False where the same idempotency key was submitted before.
    pub new: bool,
    /// Where to look.
    pub url: String,
}

/// Some of the sessions, newest first.
#[derive(Serialize, JsonSchema)]
struct SessionPage {
    /// Fewer than asked for where they are very long.
    #[schemars(with = "Vec<Standing>")]
    sessions: Vec<Box<RawValue>>,
    /// Give it as `cursor` for the next page; null on the last.
    next: Option<String>,
}

/// One session, and all that people were asked in it.
#[derive(Serialize, JsonSchema)]
struct WholeSession {
    #[serde(flatten)]
    standing: Standing,
    questions: Vec<HumanRequest>,
}

#[derive(Serialize, JsonSchema)]
struct Tasks {
    tasks: Vec<Assignment>,
}

/// Some of a session's iterations, first to last.
#[derive(Serialize, JsonSchema)]
struct IterationPage {
    iterations: Vec<Iteration>,
    /// Give it as `cursor` for the next page; null on the last.
    next: Option<i64>,
}

pub fn routes() -> Vec<Route> {
    let one_of = |words: Vec<&'static str>| json!({ "type": "string", "enum": words });
    let states = SessionState::ALL.iter().map(|state| state.as_str());
    let triggers = Trigger::ALL.iter().map(|trigger| trigger.as_str());
    let page = json!({ "type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": PAGE });
    let time = json!({ "type": "string", "format": "date-time" });
    let wait = json!({ "type": "integer", "minimum": 0, "maximum": MAX_WAIT_SECONDS });
    vec![
        Route::new(
            Method::POST,
            "/v1/sessions",
            "submit",
            "Submit a request.",
            |api, call| Box::pin(submit(api, call)),
        )
        .needs(Scope::Submit)
        .header("Idempotency-Key", key_schema(), ONE_SESSION)
        .query(
            "wait",
            wait,
            "Answer with the result, if it is there within so many seconds.",
        )
        .takes::<Request>()
        .takes_text("text/markdown")
        .answers::<Submitted>(StatusCode::ACCEPTED, "It is on disk and will be worked on.")
        .answers::<Standing>(
            StatusCode::OK,
            "With `wait`: it has ended, is paused, or waits for a person.",
        ),
        Route::new(
            Method::GET,
            "/v1/sessions",
            "list",
            "List sessions, newest first.",
            |api, call| Box::pin(list(api, call)),
        )
        .needs(Scope::Read)
        .query(
            "status",
            one_of(states.collect()),
            "Only those in this state.",
        )
        .query(
            "agent",
            json!({ "type": "string" }),
            "Only those of this agent.",
        )
        .query(
            "trigger",
            one_of(triggers.collect()),
            "Only those that came this way.",
        )
        .query(
            "label",
            json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}=.*$" }),
            "Only those with this label, as name=value.",
        )
        .query(
            "since",
            time.clone(),
            "Only those made at this time or later.",
        )
        .query("until", time, "Only those made before this time.")
        .query("limit", page.clone(), "How many at most.")
        .query(
            "cursor",
            json!({ "type": "string", "pattern": "^[0-9a-f-]{1,36}$" }),
            "The `next` of an earlier page.",
        )
        .answers::<SessionPage>(StatusCode::OK, "The sessions."),
        Route::new(
            Method::GET,
            "/v1/sessions/{id}",
            "show",
            "Look at one session.",
            |api, call| Box::pin(show(api, call)),
        )
        .needs(Scope::Read)
        .answers::<WholeSession>(StatusCode::OK, "The session."),
        Route::new(
            Method::GET,
            "/v1/sessions/{id}/tasks",
            "tasks",
            "List the tasks of a session.",
            |api, call| Box::pin(tasks_of(api, call)),
        )
        .needs(Scope::Read)
        .answers::<Tasks>(StatusCode::OK, "The tasks, in their order."),
        Route::new(
            Method::GET,
            "/v1/sessions/{id}/iterations",
            "iterations",
            "List the iterations of a session.",
            |api, call| Box::pin(iterations_of(api, call)),
        )
        .needs(Scope::Read)
        .query("limit", page, "How many at most.")
        .query(
            "cursor",
            json!({ "type": "integer", "minimum": 0 }),
            "The `next` of an earlier page.",
        )
        .answers::<IterationPage>(StatusCode::OK, "The iterations."),
    ]
}

async fn submit(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let wait = call.number("wait", 0..=MAX_WAIT_SECONDS)?;
    let request = request_of(&call)?;
    let created = admit(&api, request, Origin::new(Trigger::Api)).await?;
    if let Some(seconds) = wait.filter(|seconds| *seconds > 0) {
        let longest = Duration::from_secs(seconds.unsigned_abs());
        match api.rest_of(created.id(), longest).await {
            Ok(rest) if rest.is_reached() => return Ok(at(&created, Reply::ok(&rest.standing))),
            // It is on disk, whatever can be read of it.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(accepted(&created))
}

/// Makes a session of a request, as every way in does.
pub async fn admit(api: &Api, request: Request, origin: Origin) -> Result<Created, Problem> {
    let reception = Reception::from(&*api.house);
    Ok(reception.admit(request, origin).await?)
}

/// The answer for a session that was made, or was there before.
pub fn accepted(created: &Created) -> Reply {
    let submitted = Submitted {
        session_id: created.id().to_owned(),
        new: matches!(created, Created::New(_)),
        url: place_of(created.id()),
    };
    at(created, Reply::json(StatusCode::ACCEPTED, &submitted))
}

fn at(created: &Created, reply: Reply) -> Reply {
    match HeaderValue::from_str(&place_of(created.id())) {
        Ok(place) => reply.with(LOCATION, place),
        Err(_) => reply,
    }
}

fn place_of(id: &str) -> String {
    format!("/v1/sessions/{id}")
}

fn request_of(call: &Call) -> Result<Request, Problem> {
    let text = call.body_text()?;
    let request = match call.content_type().as_deref() {
        None => parse(text)?,
        Some("text/markdown" | "text/plain") => Request::from_markdown(text)?,
        Some(kind) if kind == "application/json" || kind.ends_with("+json") => {
            Request::from_json(text)?
        }
        Some(kind) => return Err(unsupported(kind, "application/json")),
    };
    with_key(request, call)
}

/// The key under which a call is done once, however often it comes.
pub fn key_of(call: &Call) -> Result<Option<String>, Problem> {
    let mut headers = call.headers.get_all(KEY).iter();
    let Some(header) = headers.next() else {
        return Ok(None);
    };
    let key = header.to_str().map(str::trim).unwrap_or_default();
    let plain = key.bytes().all(|byte| byte.is_ascii_graphic());
    if !plain || key.is_empty() || key.len() > MAX_KEY_BYTES || headers.next().is_some() {
        let detail = "Idempotency-Key: must be there once, with 1 to 255 visible ASCII characters";
        return Err(Problem::unfit(detail));
    }
    Ok(Some(key.to_owned()))
}

pub fn key_schema() -> serde_json::Value {
    json!({ "type": "string", "minLength": 1, "maxLength": MAX_KEY_BYTES, "pattern": "^[!-~]+$" })
}

/// The key of the header is the request's own.
pub fn with_key(request: Request, call: &Call) -> Result<Request, Problem> {
    let Some(key) = key_of(call)? else {
        return Ok(request);
    };
    match &request.idempotency_key {
        Some(other) if *other != key => Err(Problem::unfit(
            "idempotency_key and the header Idempotency-Key differ; give one of them",
        )),
        _ => Ok(Request {
            idempotency_key: Some(key),
            ..request
        }),
    }
}

async fn list(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let limit = call.number("limit", 1..=MAX_PAGE)?;
    let limit = limit.map_or(PAGE, |limit| u32::try_from(limit).unwrap_or(PAGE));
    let time = |name| -> Result<Option<i64>, Problem> {
        let time: Option<Timestamp> = call.value(name, "a time such as 2026-11-20T02:00:00Z")?;
        Ok(time.map(Timestamp::as_millisecond))
    };
    let wanted = Wanted {
        status: call.value("status", &one_of(SessionState::ALL))?,
        before: cursor(&call)?,
        agent: call.text("agent").map(str::to_owned),
        trigger: call.value("trigger", &one_of(Trigger::ALL))?,
        since_ms: time("since")?,
        until_ms: time("until")?,
        label: call.text("label").map(label).transpose()?,
        text: None,
    };
    let page = api
        .house
        .store
        .read(move |sql| page(sql, wanted.clone(), limit as usize));
    Ok(Reply::ok(&page.await?))
}

fn page(sql: &mut dyn Sql, mut wanted: Wanted, limit: usize) -> anyhow::Result<SessionPage> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    loop {
        let found = sessions::list(sql, &wanted, READ_AT_ONCE)?;
        let is_last = found.len() < READ_AT_ONCE as usize;
        for session in found {
            if page.len() == limit || bytes >= MAX_PAGE_BYTES {
                return Ok(SessionPage {
                    sessions: page,
                    next: wanted.before,
                });
            }
            wanted.before = Some(session.id.clone());
            let standing = to_raw_value(&Standing::of(sql, session)?)?;
            bytes += standing.get().len();
            page.push(standing);
        }
        if is_last {
            return Ok(SessionPage {
                sessions: page,
                next: None,
            });
        }
    }
}

fn one_of<W: std::fmt::Display>(words: &[W]) -> String {
    let words: Vec<String> = words.iter().map(W::to_string).collect();
    format!("one of {}", words.join(", "))
}

fn cursor(call: &Call) -> Result<Option<String>, Problem> {
    let sane = |text: &str| {
        !text.is_empty()
            && text.len() <= 36
            && text
                .bytes()
                .all(|byte| b"0123456789abcdef-".contains(&byte))
    };
    match call.text("cursor") {
        Some(text) if !sane(text) => Err(Problem::unfit(
            "cursor: must be the `next` of an earlier page",
        )),
        text => Ok(text.map(str::to_owned)),
    }
}

fn label(text: &str) -> Result<(String, String), Problem> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| Problem::unfit("label: must be name=value"))?;
    format::check("label-name", name)
        .map_err(|reason| Problem::unfit(format!("label: the name {reason}")))?;
    Ok((name.to_owned(), value.to_owned()))
}

async fn show(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let given = call.part().to_owned();
    let whole = api.house.store.read(move |sql| {
        let id = sessions::resolve(sql, &given)?;
        let session = sessions::expect(sql, &id)?;
        Ok(WholeSession {
            standing: Standing::of(sql, session)?,
            questions: humans::of_session(sql, &id)?,
        })
    });
    Ok(Reply::ok(&whole.await?))
}

async fn tasks_of(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let given = call.part().to_owned();
    let tasks = api.house.store.read(move |sql| {
        let id = sessions::resolve(sql, &given)?;
        Ok(Tasks {
            tasks: tasks::for_people(sql, &id)?,
        })
    });
    Ok(Reply::ok(&tasks.await?))
}

async fn iterations_of(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let limit = call.number("limit", 1..=MAX_PAGE)?;
    let limit = limit.map_or(PAGE, |limit| u32::try_from(limit).unwrap_or(PAGE));
    let after = call.number("cursor", 0..=i64::MAX)?.unwrap_or(0);
    let given = call.part().to_owned();
    let page = api.house.store.read(move |sql| {
        let id = sessions::resolve(sql, &given)?;
        let mut iterations = iterations::after(sql, &id, after, limit + 1)?;
        let more = iterations.len() > limit as usize;
        iterations.truncate(limit as usize);
        let next = iterations.last().map(|iteration| iteration.number);
        Ok(IterationPage {
            iterations,
            next: next.filter(|_| more),
        })
    });
    Ok(Reply::ok(&page.await?))
}
