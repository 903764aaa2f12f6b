//! The same by the store: whole sessions with their tasks and events, claimed and settled by the verbs that the daemon uses.

use super::by_many;
use super::support::place;
use ralphd::clock::{new_id, now_ms};
use ralphd::config::Config;
use ralphd::engine::mission::default_request;
use ralphd::model::session::{EndReason, SessionStep, Trigger, Verified};
use ralphd::model::task::TaskStep;
use ralphd::store::Store;
use ralphd::store::sessions::{self, Ending, NewSession};
use ralphd::store::tasks::{self, Claim, Settlement};
use serde_json::json;
use std::time::Duration;

pub const OBJECTIVE: &str =
    "Refactor the module so that its tests pass, then write down what was changed and why.";
pub const LEASE_MS: i64 = 30_000;

/// The times to push and to drain all jobs.
pub async fn round() -> (Duration, Duration) {
    let directory = place();
    let store = Store::open(directory.path()).expect("open the store");
    let request = request();
    let to = store.clone();
    let push = by_many(move |_| {
        let (to, new) = (to.clone(), session(request.clone()));
        async move {
            to.write(move |sql| sessions::create(sql, &new))
                .await
                .expect("create");
        }
    })
    .await;
    let drain = by_many(move |_| {
        let store = store.clone();
        async move {
            let claim = claim(&store).await;
            complete(&store, claim).await;
        }
    })
    .await;
    (push, drain)
}

/// What a request without any wish comes to, as it is stored.
pub fn request() -> String {
    serde_json::to_string(&default_request(&Config::default())).expect("a request")
}

fn session(request: String) -> NewSession {
    let id = new_id();
    NewSession {
        workspace: format!("/var/lib/ralphd/workspaces/run/{id}"),
        id,
        task_id: new_id(),
        objective: OBJECTIVE.to_owned(),
        agent: "bench".to_owned(),
        trigger: Trigger::Inbox,
        origin: "request".to_owned(),
        dedupe_key: None,
        request,
        max_iterations: 10,
        completion_promise: "TASK_COMPLETE".to_owned(),
        planned: false,
        parent: None,
        follows_session_id: None,
        fork: None,
        no_wait: false,
        protected: None,
        priority: 0,
        not_before_ms: None,
        created_at_ms: now_ms(),
        claimed_by: None,
    }
}

pub async fn claim(store: &Store) -> Claim {
    store
        .write(|sql| {
            let at_ms = now_ms();
            tasks::claim(sql, "bench", at_ms + LEASE_MS, at_ms)
        })
        .await
        .expect("claim")
        .expect("a task is ready")
}

async fn complete(store: &Store, claim: Claim) {
    let settlement = Settlement {
        result: Some(json!({"answer": OBJECTIVE, "verified": Verified::Claimed}).to_string()),
        summary: Some(OBJECTIVE.to_owned()),
        ..Settlement::default()
    };
    let ending = Ending {
        answer: Some(OBJECTIVE.to_owned()),
        verified: Some(Verified::Claimed),
        tally: sessions::Tally::Completed,
        ..Ending::new(SessionStep::Complete, EndReason::Completed, None)
    };
    store
        .write(move |sql| {
            let (at_ms, session) = (now_ms(), &claim.session_id);
            tasks::settle(sql, &claim, TaskStep::Complete, &settlement, at_ms)?;
            sessions::end(sql, session, &ending, at_ms)
        })
        .await
        .expect("settle");
}
