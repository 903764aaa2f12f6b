//! A new session from a point of another: the same request, that point's files, handoff, plan and count, in a workspace of its own. The
//! other session is not touched, and may be at work.

use super::again;
use super::intake::{After, Origin};
use crate::model::request::{Request, Workspace};
use crate::model::session::Trigger;
use crate::store::restore_points::RestorePoint;
use crate::store::sessions::{Fork, Session};
use anyhow::Result;

/// The request as it was; the workspace's name and place are not the fork's.
pub fn request(session: &Session) -> Result<Request> {
    let request = again::request(session)?;
    let workspace = request.workspace.map(|workspace| Workspace {
        session: None,
        in_place: None,
        ..workspace
    });
    Ok(Request {
        workspace,
        ..request
    })
}

/// Where the new session comes from.
pub fn origin(session: Session, point: &RestorePoint, trigger: Trigger) -> Origin {
    Origin {
        stem: Some(session.origin.clone()),
        fork: Some(Fork {
            session: session.id.clone(),
            number: point.number,
            iteration_count: point.iteration_count,
        }),
        after: Some(After {
            session: Box::new(session),
            same_workspace: false,
        }),
        ..Origin::new(trigger)
    }
}
