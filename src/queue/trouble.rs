//! What becomes of a task whose work broke off with an error that was nobody's answer: it is left for later, or its session ends with
//! the reason. It must not stay silent.

use crate::engine::{self, House};
use crate::model::session::EndReason;
use crate::store::Unavailable;
use crate::store::tasks::{Claim, ClaimLost};
use anyhow::Error;
use std::io;

/// Leaves the task to whoever has it by now, for later, or fails its session.
pub(super) async fn settle(house: &House, claim: Claim, error: &Error) {
    if error.is::<ClaimLost>() {
        tracing::warn!("{error}");
    } else if may_pass(error) {
        // Nothing is settled: when the lease runs out the task is claimed again and goes on from its rows.
        tracing::error!(session = claim.session_id, "left for later: {error:#}");
    } else {
        fail(house, claim, format!("{error:#}")).await;
    }
}

/// The machine is at fault, not the session: a full disk, a busy database, too many open files.
fn may_pass(error: &Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        cause.is::<Unavailable>() || io.is_some_and(is_for_want_of_room)
    })
}

fn is_for_want_of_room(error: &io::Error) -> bool {
    use io::ErrorKind::*;
    let code = error.raw_os_error();
    matches!(
        error.kind(),
        StorageFull | QuotaExceeded | ReadOnlyFilesystem | OutOfMemory | WouldBlock
    ) || code.is_some_and(|code| [libc::EMFILE, libc::ENFILE].contains(&code))
}

/// An error that is neither the agent's nor the database's ends the session with its reason, never in silence.
async fn fail(house: &House, claim: Claim, detail: String) {
    tracing::error!(session = claim.session_id, "session failed: {detail}");
    // What an earlier daemon started may still run although its session cannot go on.
    if let Err(error) = engine::end_what_runs(house, &claim).await {
        // Not settled: an agent without a session is worse than a session that is tried again when its lease runs out.
        tracing::error!("what runs for it could not be ended, so it is left for later: {error:#}");
        return;
    }
    let settled = house
        .store
        .write(move |sql| engine::fail(sql, &claim, EndReason::AgentFailed, &detail))
        .await;
    if let Err(error) = settled {
        tracing::error!("a failed session could not be ended: {error:#}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn what_the_machine_is_at_fault_for_is_left_for_later() {
        let system = |code| Error::from(io::Error::from_raw_os_error(code));
        for (error, passes) in [
            (system(libc::ENOSPC).context("cannot write"), true),
            (system(libc::EDQUOT), true),
            (system(libc::EROFS), true),
            (system(libc::ENOMEM), true),
            (system(libc::EMFILE).context("open").context("start"), true),
            (system(libc::ENFILE), true),
            (anyhow!(Unavailable("locked".to_owned())), true),
            (system(libc::ENOENT), false),
            (system(libc::EACCES).context("cannot write"), false),
            (anyhow!("no such agent"), false),
        ] {
            assert_eq!(may_pass(&error), passes, "{error:#}");
        }
    }
}
