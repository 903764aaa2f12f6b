//! Where webhooks arrive: `POST /hooks/NAME`. Who sent a delivery is `trigger/webhook`'s to check; no token is asked for.

use super::Api;
use super::call::Call;
use super::problem::Problem;
use super::reply::Reply;
use super::route::Route;
use crate::clock::now_ms;
use crate::trigger::intake::Reception;
use crate::trigger::webhook::{Delivery, Received, Refusal};
use hyper::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;
use std::sync::Arc;

/// What became of a delivery.
#[derive(Serialize, JsonSchema)]
struct Taken {
    status: Fate,
    /// The session that it became; null where it became none, or that is no longer kept.
    session_id: Option<String>,
    /// Why it was passed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Fate {
    Accepted,
    /// It was here before.
    Duplicate,
    /// It is not one that the hook is for.
    Ignored,
}

pub fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/hooks/{name}",
            "deliver",
            "Deliver a webhook; the hook's own secret says who may.",
            |api, call| Box::pin(deliver(api, call)),
        )
        .limited(limit)
        .may_take::<Json>()
        .answers::<Taken>(
            StatusCode::ACCEPTED,
            "It is on disk, and will be worked on.",
        )
        .answers::<Taken>(
            StatusCode::OK,
            "Nothing new came of it: it was here before, or is not one that the hook is for.",
        ),
    ]
}

fn limit(api: &Api, parts: &[String]) -> Result<u64, Problem> {
    let name = parts.first().map_or("", String::as_str);
    api.hooks
        .max_bytes(name)
        .ok_or_else(|| Problem::not_found("there is no such hook"))
}

async fn deliver(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let headers: Vec<(String, String)> = call
        .headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect();
    let delivery = Delivery {
        headers: &headers,
        body: &call.body,
        loopback: call.loopback,
        at_ms: now_ms(),
    };
    let reception = Reception::from(&*api.house);
    let received = api.hooks.receive(reception, call.part(), delivery).await?;
    let (code, fate, session_id, reason) = match received {
        Received::Started { session_id } => {
            (StatusCode::ACCEPTED, Fate::Accepted, Some(session_id), None)
        }
        Received::Already { session_id } => (StatusCode::OK, Fate::Duplicate, session_id, None),
        Received::Ignored { reason } => (StatusCode::OK, Fate::Ignored, None, Some(reason)),
        Received::Refused(refusal) => return Err(refused(refusal)),
    };
    let taken = Taken {
        status: fate,
        session_id,
        reason,
    };
    Ok(Reply::json(code, &taken))
}

fn refused(refusal: Refusal) -> Problem {
    let words = refusal.to_string();
    match refusal {
        Refusal::NotLoopback => Problem::new(StatusCode::FORBIDDEN, words),
        Refusal::MissingSignature(_) | Refusal::BadSignature | Refusal::Stale => {
            Problem::new(StatusCode::UNAUTHORIZED, words)
        }
        Refusal::Malformed(_) => Problem::new(StatusCode::BAD_REQUEST, words),
        Refusal::Unfit(problems) => problems.into(),
    }
}
