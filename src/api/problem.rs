//! What went wrong, for a program and its author: `application/problem+json` (RFC 9457). Every refusal of the API is one of these.
//! It must not tell more of our own troubles than that there are some; the log has the rest.

use super::reply::Reply;
use crate::model::request::Problems;
use crate::model::session::InvalidStep;
use crate::store::Unavailable;
use crate::store::humans::{AskedSomethingElse, NoAnswer};
use crate::store::restore_points::NoPoint;
use crate::store::sessions::NotFound;
use crate::trigger::again::NotEnded;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use schemars::JsonSchema;
use serde::Serialize;

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Why a call was not done.
#[derive(Debug)]
pub struct Problem {
    pub status: StatusCode,
    pub detail: String,
    errors: Vec<Fault>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// One thing wrong with a request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Fault {
    /// The key it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    message: String,
}

impl Fault {
    fn in_words(&self) -> String {
        match &self.key {
            Some(key) => format!("{key}: {}", self.message),
            None => self.message.clone(),
        }
    }
}

/// The problem as it is sent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct Sent {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    /// The id under which the log has this call.
    instance: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Fault>,
}

impl Problem {
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
            errors: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// Something in the call that cannot be understood.
    pub fn unfit(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// What is wrong, one thing a line.
    pub fn lines(&self) -> Vec<String> {
        match self.errors.as_slice() {
            [] => vec![self.detail.clone()],
            errors => errors.iter().map(Fault::in_words).collect(),
        }
    }

    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The answer to the caller, under the id of the call.
    pub fn reply(self, call_id: &str) -> Reply {
        let body = Sent {
            kind: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Problem"),
            status: self.status.as_u16(),
            detail: self.detail,
            instance: call_id.to_owned(),
            errors: self.errors,
        };
        let reply = Reply::json(self.status, &body).with(CONTENT_TYPE, PROBLEM_JSON);
        self.headers
            .into_iter()
            .fold(reply, |reply, (name, value)| reply.with(name, value))
    }
}

impl From<Problems> for Problem {
    fn from(problems: Problems) -> Self {
        let errors = problems.iter().map(|problem| Fault {
            key: problem.key.clone(),
            line: problem.line,
            message: problem.message.clone(),
        });
        Self {
            errors: errors.collect(),
            ..Self::unfit(problems.to_string())
        }
    }
}

impl From<anyhow::Error> for Problem {
    fn from(error: anyhow::Error) -> Self {
        let error = match error.downcast::<Problems>() {
            Ok(problems) => return problems.into(),
            Err(error) => error,
        };
        let detail = format!("{error:#}");
        let is_conflict =
            error.is::<InvalidStep>() || error.is::<NotEnded>() || error.is::<AskedSomethingElse>();
        match () {
            () if error.is::<NotFound>() || error.is::<NoPoint>() => Self::not_found(detail),
            () if is_conflict => Self::new(StatusCode::CONFLICT, detail),
            () if error.is::<NoAnswer>() => Self::unfit(detail),
            () => Self::of_our_own(&error),
        }
    }
}

impl Problem {
    fn of_our_own(error: &anyhow::Error) -> Self {
        tracing::error!("a call failed: {error:#}");
        if error.is::<Unavailable>() {
            let detail = "the database cannot be written or read just now; nothing was changed";
            return Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
                .with(hyper::header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "ralphd failed; its log says more",
        )
    }
}
