//! What can be done to a session: answer, approve, reject, tell, pause, resume, cancel, and begin it again. The same verbs as the command line's.

use super::Api;
use super::call::Call;
use super::problem::Problem;
use super::reply::Reply;
use super::route::Route;
use super::sessions::{ONE_SESSION, Submitted, accepted, admit, key_of, key_schema, with_key};
use crate::clock::now_ms;
use crate::model::request::{Changes, Request};
use crate::model::session::Trigger;
use crate::model::token::Scope;
use crate::report::standing::Standing;
use crate::store::driver::Sql;
use crate::store::sessions::Created;
use crate::store::{deliveries, guidance, humans, sessions};
use crate::trigger::{again, answer as answers};
use futures_util::future::BoxFuture;
use hyper::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// What a person may say at once: it becomes an event, of which many are read together, and part of a prompt.
const MAX_WORDS_BYTES: usize = 64 * 1024;
/// Where a call that is done once is remembered to be from.
const FROM_CALLS: &str = "http";
/// What an idempotency key does to an act.
pub const ONCE: &str = "The same under the same key is done once, however often it comes.";

/// A person's answer; the number of an option picks it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    #[schemars(regex(pattern = r"\S"))]
    answer: String,
    /// The id of the question. Left out, it is an answer to whatever is asked; else it is refused once something else is.
    question: Option<String>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ApproveBody {
    /// The id of what is asked: what a session asks about next is not approved with it.
    question: Option<String>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct RejectBody {
    #[schemars(regex(pattern = r"\S"))]
    reason: Option<String>,
    /// The id of what is asked.
    question: Option<String>,
}

/// Something that the next iteration is to know.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TellBody {
    #[schemars(regex(pattern = r"\S"))]
    text: String,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct PauseBody {
    /// End the running iteration too.
    now: bool,
}

/// Nothing needs to be said.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoBody {}

pub fn routes() -> Vec<Route> {
    let act = |path, name, summary, action| {
        Route::new(Method::POST, path, name, summary, action)
            .needs(Scope::Act)
            .header("Idempotency-Key", key_schema(), ONCE)
            .answers::<Standing>(StatusCode::OK, "How the session stands now.")
    };
    let again = |path, name, summary, action| {
        Route::new(Method::POST, path, name, summary, action)
            .needs(Scope::Submit)
            .header("Idempotency-Key", key_schema(), ONE_SESSION)
            .may_take::<Changes>()
            .answers::<Submitted>(StatusCode::ACCEPTED, "A new session, linked to this one.")
    };
    vec![
        act(
            "/v1/sessions/{id}/answer",
            "answer",
            "Answer the question that a session waits on.",
            |api, call| Box::pin(answer(api, call)),
        )
        .takes::<AnswerBody>(),
        act(
            "/v1/sessions/{id}/approve",
            "approve",
            "Let the step run that a session asks about.",
            |api, call| Box::pin(approve(api, call)),
        )
        .may_take::<ApproveBody>(),
        act(
            "/v1/sessions/{id}/reject",
            "reject",
            "Refuse the step that a session asks about; the session is paused.",
            |api, call| Box::pin(reject(api, call)),
        )
        .may_take::<RejectBody>(),
        act(
            "/v1/sessions/{id}/tell",
            "tell",
            "Tell a session something that its next iteration reads.",
            |api, call| Box::pin(tell(api, call)),
        )
        .takes::<TellBody>(),
        act(
            "/v1/sessions/{id}/pause",
            "pause",
            "Pause a session after its running iteration, or now.",
            |api, call| Box::pin(pause(api, call)),
        )
        .may_take::<PauseBody>(),
        act(
            "/v1/sessions/{id}/resume",
            "resume",
            "Let a paused session go on.",
            |api, call| {
                Box::pin(async move {
                    call.json::<NoBody>()?;
                    change(&api, &call, "resume", |sql, id| {
                        sessions::resume(sql, id, now_ms()).map(drop)
                    })
                    .await
                })
            },
        )
        .may_take::<NoBody>(),
        act(
            "/v1/sessions/{id}/cancel",
            "cancel",
            "Cancel a session; its agent is ended.",
            |api, call| {
                Box::pin(async move {
                    call.json::<NoBody>()?;
                    change(&api, &call, "cancel", |sql, id| {
                        sessions::cancel(sql, id, now_ms()).map(drop)
                    })
                    .await
                })
            },
        )
        .may_take::<NoBody>(),
        again(
            "/v1/sessions/{id}/retry",
            "retry",
            "Start an ended session's request afresh; keys of the body win over it.",
            |api, call| begin_again(api, call, false),
        ),
        again(
            "/v1/sessions/{id}/continue",
            "continue",
            "Go on from an ended session, in its workspace; keys of the body win over its request.",
            |api, call| begin_again(api, call, true),
        ),
    ]
}

async fn answer(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let body: AnswerBody = call.json()?;
    let given = answers::Answer {
        session: call.part().to_owned(),
        answer: some_words("answer", body.answer)?,
        question: body.question,
    };
    change(&api, &call, "answer", move |sql, _| {
        answers::settle(sql, &given).map(drop)
    })
    .await
}

async fn approve(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let body: ApproveBody = call.json()?;
    change(&api, &call, "approve", move |sql, id| {
        humans::expect_asked(sql, id, body.question.as_deref())?;
        humans::approve(sql, id, now_ms())
    })
    .await
}

async fn reject(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let body: RejectBody = call.json()?;
    let reason = body.reason.map(|reason| some_words("reason", reason));
    let reason = reason.transpose()?;
    change(&api, &call, "reject", move |sql, id| {
        humans::expect_asked(sql, id, body.question.as_deref())?;
        humans::reject(sql, id, reason.as_deref(), now_ms())
    })
    .await
}

async fn tell(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let body: TellBody = call.json()?;
    let text = some_words("text", body.text)?;
    change(&api, &call, "tell", move |sql, id| {
        guidance::tell(sql, id, &text, now_ms())
    })
    .await
}

async fn pause(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let body: PauseBody = call.json()?;
    change(&api, &call, "pause", move |sql, id| {
        sessions::pause(sql, id, body.now, now_ms()).map(drop)
    })
    .await
}

pub fn some_words(key: &str, text: String) -> Result<String, Problem> {
    match text.trim() {
        "" => Err(Problem::unfit(format!("{key}: must not be blank"))),
        text if text.len() > MAX_WORDS_BYTES => Err(Problem::unfit(format!(
            "{key}: must have at most {MAX_WORDS_BYTES} bytes, has {}",
            text.len()
        ))),
        text => Ok(text.to_owned()),
    }
}

/// Does something to the session that the path names, and says how it stands then.
async fn change(
    api: &Arc<Api>,
    call: &Call,
    name: &'static str,
    change: impl Fn(&mut dyn Sql, &str) -> anyhow::Result<()> + Send + 'static,
) -> Result<Reply, Problem> {
    let (given, key) = (call.part().to_owned(), key_of(call)?);
    let id = api.house.store.write(move |sql| {
        let id = sessions::resolve(sql, &given)?;
        keyed(sql, key.as_deref(), name, &id, |sql| change(sql, &id))?;
        Ok(id)
    });
    stands(api, id.await?).await
}

/// Does it to the session, and once only where the call has a key.
pub fn keyed(
    sql: &mut dyn Sql,
    key: Option<&str>,
    name: &str,
    session: &str,
    change: impl FnOnce(&mut dyn Sql) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let Some(key) = key else {
        return change(sql);
    };
    let key = format!("{name}:{session}:{key}");
    let changed = |sql: &mut dyn Sql| change(sql).map(|()| session.to_owned());
    deliveries::once(sql, FROM_CALLS, &key, now_ms(), changed).map(drop)
}

async fn stands(api: &Arc<Api>, id: String) -> Result<Reply, Problem> {
    let standing = api.house.store.read(move |sql| {
        let session = sessions::expect(sql, &id)?;
        Standing::of(sql, session)
    });
    let standing = standing.await.map_err(|error| {
        tracing::error!("what was done cannot be shown: {error:#}");
        done_all_the_same()
    });
    Ok(Reply::ok(&standing?))
}

/// Who would try again does not hear that nothing was changed.
pub fn done_all_the_same() -> Problem {
    let detail = "it was done, but how the session stands cannot be read just now";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
}

fn begin_again(
    api: Arc<Api>,
    call: Call,
    same_workspace: bool,
) -> BoxFuture<'static, Result<Reply, Problem>> {
    Box::pin(async move {
        call.expect_json()?;
        let changes = match call.body_text()?.trim() {
            "" => Request::default(),
            text => Request::changes_from_json(text)?,
        };
        let changes = with_key(changes, &call)?;
        let created = again(&api, call.part(), changes, same_workspace).await?;
        Ok(accepted(&created))
    })
}

/// Begins an ended session again, with these keys over its request.
pub async fn again(
    api: &Api,
    given: &str,
    changes: Request,
    same_workspace: bool,
) -> Result<Created, Problem> {
    let given = given.to_owned();
    let read = api.house.store.read(move |sql| again::ended(sql, &given));
    let ended = read.await?;
    let request = changes.overlay(&again::request(&ended)?);
    let origin = again::origin(ended, same_workspace, Trigger::Api);
    admit(api, request, origin).await
}
