//! What a session asks of people, and what they can do to it now.

use super::view::long;
use crate::clock::local_time;
use crate::model::amount::duration;
use crate::model::harmless::harmless_lines;
use crate::model::session::{Control, SessionState};
use crate::report::standing::Standing;
use crate::store::humans::{HumanKind, HumanRequest};
use crate::store::restore_points::RestorePoint;
use serde::Serialize;

/// Something that a person is or was asked.
#[derive(Serialize)]
pub struct Question {
    question_id: String,
    is_gate: bool,
    question: String,
    error: Option<String>,
    options: Vec<String>,
    asked: String,
    left: String,
    outcome: String,
    answer: Option<String>,
}

/// What can be done now.
#[derive(Serialize)]
pub struct Actions {
    pause: bool,
    resume: bool,
    cancel: bool,
    again: bool,
    tell: bool,
    /// The point that it stands at, from which or an earlier one a fork can start.
    fork: Option<i64>,
}

impl Question {
    pub fn of(asked: &HumanRequest, now_ms: i64) -> Self {
        Self {
            question_id: asked.id.clone(),
            is_gate: asked.kind == HumanKind::Gate,
            question: long(&asked.question),
            error: asked.error.as_deref().map(long),
            options: asked
                .options
                .iter()
                .map(|option| harmless_lines(option))
                .collect(),
            asked: local_time(asked.asked_at_ms),
            left: duration(asked.expires_at_ms - now_ms),
            outcome: asked.status.to_string(),
            answer: asked.answer.as_deref().map(long),
        }
    }
}

impl Actions {
    pub fn of(standing: &Standing, newest: Option<&RestorePoint>) -> Self {
        let session = &standing.session;
        let ended = session.status.is_terminal();
        let pausing = matches!(session.control, Some(Control::Pause | Control::PauseNow));
        let paused = session.status == SessionState::Paused;
        Self {
            pause: !ended && !paused && session.control.is_none(),
            resume: paused || (pausing && !ended),
            cancel: !ended,
            again: ended,
            tell: !ended,
            fork: newest.map(|point| point.number),
        }
    }
}
