//! Exit codes, and which error means which. They are part of the contract: users script against them.

use crate::api::Unguarded;
use crate::config::ConfigError;
use crate::model::request::Problems;
use crate::model::session::{EndReason, SessionState};
use crate::store::restore_points::NoPoint;
use crate::store::sessions::{NotFound, Session};

use super::output::remark;
use super::schedule::NoSuchSchedule;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    Failed,
    Usage,
    AwaitingHuman,
    LimitHit,
    Cancelled,
    NotFound,
    Interrupted,
    /// The shim's own.
    Code(i32),
}

impl Exit {
    /// The number for the shell.
    pub fn code(self) -> i32 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::AwaitingHuman => 3,
            Exit::LimitHit => 4,
            Exit::Cancelled => 5,
            Exit::NotFound => 6,
            Exit::Interrupted => 130,
            Exit::Code(code) => code,
        }
    }

    /// The code for how a session stands.
    pub fn of_session(session: &Session) -> Self {
        match (session.status, session.end_reason) {
            (SessionState::Completed, _) => Exit::Done,
            (SessionState::Cancelled, _) => Exit::Cancelled,
            (SessionState::AwaitingHuman, _) => Exit::AwaitingHuman,
            (_, Some(reason)) if reason.is_limit() => Exit::LimitHit,
            (_, Some(EndReason::Completed)) => Exit::Done,
            _ => Exit::Failed,
        }
    }

    /// Tells the user and finds the code.
    pub fn from_error(error: &anyhow::Error) -> Self {
        // A closed pipe (`ralphd list | head`) is the reader's wish, not a failure.
        if error.chain().any(is_broken_pipe) {
            return Exit::Done;
        }
        remark(&format!("ralphd: {error:#}"));
        let usage = error.is::<Failure>() || error.is::<ConfigError>() || error.is::<Problems>();
        if usage || error.is::<Unguarded>() {
            return Exit::Usage;
        }
        let not_found = error.is::<NotFound>() || error.is::<NoPoint>();
        if not_found || error.is::<NoSuchSchedule>() {
            return Exit::NotFound;
        }
        Exit::Failed
    }
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    let io = cause.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// A mistake in how the command was called.
#[derive(Debug)]
pub struct Failure(pub String);

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}
