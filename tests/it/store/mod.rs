//! What every driver of the store must do. Runs against each driver there is.

mod life;
mod notices;
mod queue;
mod tree;

use ralphd::clock::{new_id, now_ms};
use ralphd::model::room::Caps;
use ralphd::model::session::{Control, EndReason, SessionState, SessionStep, Trigger};
use ralphd::model::task::{TaskState, TaskStep};
use ralphd::store::driver::Sql;
use ralphd::store::sessions::{self, Applied, Created, Ending, NewSession};
use ralphd::store::tasks::{self, Claim, ClaimLost, Parking, Settlement};
use ralphd::store::{Store, events, humans, iterations, workspaces};
use serde_json::json;
use std::collections::HashSet;

const LEASE_MS: i64 = 30_000;

struct Opened {
    store: Store,
    _directory: tempfile::TempDir,
}

fn open() -> Opened {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    Opened {
        store,
        _directory: directory,
    }
}

fn new_session() -> NewSession {
    let id = new_id();
    NewSession {
        task_id: new_id(),
        objective: "Do it".to_owned(),
        agent: "a".to_owned(),
        trigger: Trigger::Cli,
        origin: "do-it".to_owned(),
        dedupe_key: None,
        request: json!({"objective": "Do it"}).to_string(),
        max_iterations: 3,
        completion_promise: "DONE".to_owned(),
        planned: false,
        parent: None,
        follows_session_id: None,
        workspace: format!("/nowhere/{id}"),
        fork: None,
        no_wait: false,
        protected: None,
        priority: 0,
        not_before_ms: None,
        created_at_ms: now_ms(),
        claimed_by: None,
        id,
    }
}

impl Opened {
    async fn create(&self, new: &NewSession) -> String {
        let new = new.clone();
        let created = self
            .store
            .write(move |sql| sessions::create(sql, &new))
            .await
            .unwrap();
        created.id().to_owned()
    }

    async fn claim(&self, worker: &str) -> Option<Claim> {
        let worker = worker.to_owned();
        self.store
            .write(move |sql| tasks::claim(sql, &worker, now_ms() + LEASE_MS, now_ms()))
            .await
            .unwrap()
    }

    async fn complete(&self, claim: Claim) -> anyhow::Result<()> {
        let ending = Ending::new(SessionStep::Complete, EndReason::Completed, None);
        self.store
            .write(move |sql| {
                tasks::settle(
                    sql,
                    &claim,
                    TaskStep::Complete,
                    &Settlement::default(),
                    now_ms(),
                )?;
                sessions::end(sql, &claim.session_id, &ending, now_ms())
            })
            .await
    }

    async fn status(&self, id: &str) -> SessionState {
        let id = id.to_owned();
        let session = self.store.read(move |sql| sessions::expect(sql, &id)).await;
        session.unwrap().status
    }

    async fn task_status(&self, id: &str) -> TaskState {
        let id = id.to_owned();
        let found = self
            .store
            .read(move |sql| tasks::of_session(sql, &id))
            .await
            .unwrap();
        found[0].status
    }
}
