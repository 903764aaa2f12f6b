//! A new session after an ended one: the same request, in its workspace or afresh. Terminal stays terminal.

use super::intake::{After, Origin};
use crate::model::request::Request;
use crate::model::session::Trigger;
use crate::store::driver::Sql;
use crate::store::sessions::{self, Session};
use anyhow::{Context, Result, bail};

/// A session that was to be begun again has not ended.
#[derive(Debug)]
pub struct NotEnded(pub String);

impl std::fmt::Display for NotEnded {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NotEnded {}

/// The ended session that is meant by an id.
pub fn ended(sql: &mut dyn Sql, given: &str) -> Result<Session> {
    let id = sessions::resolve(sql, given)?;
    let session = sessions::expect(sql, &id)?;
    if !session.status.is_terminal() {
        bail!(NotEnded(format!(
            "session {id} is {}: it has not ended yet",
            session.status
        )));
    }
    Ok(session)
}

/// The request as it was, without what belonged to that one submission.
pub fn request(ended: &Session) -> Result<Request> {
    let request: Request = serde_json::from_value(ended.request.clone())
        .with_context(|| format!("session {} holds an unreadable request", ended.id))?;
    Ok(Request {
        idempotency_key: None,
        not_before: None,
        ..request
    })
}

/// Where the new session comes from: the ended one, gone on with in its workspace or not.
pub fn origin(ended: Session, same_workspace: bool, trigger: Trigger) -> Origin {
    Origin {
        stem: Some(ended.origin.clone()),
        after: Some(After {
            session: Box::new(ended),
            same_workspace,
        }),
        ..Origin::new(trigger)
    }
}
