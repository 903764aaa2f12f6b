//! What every driver of the store must do. Runs against each driver there is.

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
        follows_session_id: None,
        workspace: format!("/nowhere/{id}"),
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

#[tokio::test]
async fn claims_go_by_priority_then_time_then_age() {
    let opened = open();
    let now = now_ms();
    let mut expected = Vec::new();
    for (priority, created_at_ms) in [(5, now), (1, now - 10), (1, now - 5), (0, now - 100)] {
        let new = NewSession {
            priority,
            created_at_ms,
            ..new_session()
        };
        expected.push(opened.create(&new).await);
    }
    for wanted in expected {
        assert_eq!(opened.claim("w").await.unwrap().session_id, wanted);
    }
    assert!(opened.claim("w").await.is_none());
}

#[tokio::test]
async fn a_task_is_not_claimed_before_its_time() {
    let opened = open();
    let new = NewSession {
        not_before_ms: Some(now_ms() + 3_600_000),
        priority: 9,
        ..new_session()
    };
    opened.create(&new).await;
    assert!(opened.claim("w").await.is_none());
    let next = opened.store.read(tasks::next_due).await.unwrap();
    assert_eq!(next, new.not_before_ms);
    let then = new.not_before_ms.unwrap();
    opened
        .store
        .write(move |sql| tasks::promote(sql, then))
        .await
        .unwrap();
    assert!(opened.claim("w").await.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn eight_claimants_take_two_hundred_tasks_none_twice() {
    let opened = open();
    for _ in 0..200 {
        opened.create(&new_session()).await;
    }
    let opened = std::sync::Arc::new(opened);
    let claimants: Vec<_> = (0..8)
        .map(|number| {
            let opened = opened.clone();
            tokio::spawn(async move {
                let mut mine = Vec::new();
                while let Some(claim) = opened.claim(&format!("w{number}")).await {
                    mine.push(claim.task_id.clone());
                    opened.complete(claim).await.unwrap();
                }
                mine
            })
        })
        .collect();
    let mut seen = HashSet::new();
    for claimant in claimants {
        for task in claimant.await.unwrap() {
            assert!(seen.insert(task), "claimed twice");
        }
    }
    assert_eq!(seen.len(), 200);
}

#[tokio::test]
async fn whoever_lost_the_claim_cannot_settle_the_successors_run() {
    let opened = open();
    let id = opened.create(&new_session()).await;
    let first = opened.claim("one").await.unwrap();
    let lost = first.clone();
    let rescued = opened
        .store
        .write(move |sql| {
            tasks::rescue(
                sql,
                &lost,
                TaskStep::Rescue,
                true,
                "the worker died",
                now_ms(),
            )
        })
        .await;
    assert!(rescued.unwrap());
    let second = opened.claim("one").await.unwrap();
    assert_eq!(second.number, first.number + 1);
    let refusal = opened.complete(first).await.unwrap_err();
    assert!(refusal.is::<ClaimLost>(), "{refusal:#}");
    assert_eq!(opened.status(&id).await, SessionState::Executing);
    opened.complete(second).await.unwrap();
    assert_eq!(opened.status(&id).await, SessionState::Completed);
}

#[tokio::test]
async fn a_failing_write_does_not_undo_its_neighbours() {
    let opened = std::sync::Arc::new(open());
    let writes: Vec<_> = (0..100)
        .map(|number| {
            let opened = opened.clone();
            tokio::spawn(async move {
                let new = new_session();
                let id = new.id.clone();
                let result = opened
                    .store
                    .write(move |sql| {
                        sessions::create(sql, &new)?;
                        anyhow::ensure!(number % 3 != 0, "not this one");
                        if number % 5 == 0 {
                            panic!("a verb that breaks");
                        }
                        Ok(())
                    })
                    .await;
                (number, id, result.is_ok())
            })
        })
        .collect();
    for write in writes {
        let (number, id, succeeded) = write.await.unwrap();
        assert_eq!(succeeded, number % 3 != 0 && number % 5 != 0);
        let there = opened
            .store
            .read(move |sql| sessions::get(sql, &id))
            .await
            .unwrap();
        assert_eq!(there.is_some(), succeeded);
    }
}

#[tokio::test]
async fn one_dedupe_key_makes_one_session() {
    let opened = open();
    let keyed = || NewSession {
        dedupe_key: Some("same".to_owned()),
        ..new_session()
    };
    let first = opened.create(&keyed()).await;
    let again = keyed();
    let created = opened
        .store
        .write(move |sql| sessions::create(sql, &again))
        .await
        .unwrap();
    assert_eq!(created, Created::Already(first));
}

#[tokio::test]
async fn an_invalid_step_changes_nothing_and_says_why() {
    let opened = open();
    let id = opened.create(&new_session()).await;
    let claim = opened.claim("w").await.unwrap();
    opened.complete(claim).await.unwrap();
    let before = opened.store.read(events::last).await.unwrap();
    let target = id.clone();
    let refusal = opened
        .store
        .write(move |sql| sessions::cancel(sql, &target, now_ms()))
        .await
        .unwrap_err();
    assert_eq!(refusal.to_string(), "cannot cancel while completed");
    assert_eq!(opened.store.read(events::last).await.unwrap(), before);
    assert_eq!(opened.status(&id).await, SessionState::Completed);
}

#[tokio::test]
async fn pause_and_resume_leave_everything_as_it_was() {
    let opened = open();
    let id = opened.create(&new_session()).await;
    let (target, again) = (id.clone(), id.clone());
    let paused = opened
        .store
        .write(move |sql| sessions::pause(sql, &target, false, now_ms()))
        .await;
    assert_eq!(paused.unwrap(), Applied::Now);
    assert!(opened.claim("w").await.is_none());
    opened
        .store
        .write(move |sql| sessions::resume(sql, &again, now_ms()))
        .await
        .unwrap();
    assert_eq!(opened.status(&id).await, SessionState::Created);
    assert!(opened.claim("w").await.is_some());
}

#[tokio::test]
async fn a_wish_for_a_running_session_is_noted_and_can_be_withdrawn() {
    let opened = open();
    let id = opened.create(&new_session()).await;
    opened.claim("w").await.unwrap();
    let (target, again) = (id.clone(), id.clone());
    let noted = opened
        .store
        .write(move |sql| sessions::pause(sql, &target, true, now_ms()))
        .await;
    assert_eq!(noted.unwrap(), Applied::Soon);
    let wishes = opened.store.read(sessions::controlled).await.unwrap();
    assert_eq!(wishes, [(id.clone(), Control::PauseNow)]);
    opened
        .store
        .write(move |sql| sessions::resume(sql, &again, now_ms()))
        .await
        .unwrap();
    assert!(
        opened
            .store
            .read(sessions::controlled)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_question_waits_survives_a_pause_and_is_answered_once() {
    let opened = open();
    let id = opened.create(&new_session()).await;
    let claim = opened.claim("w").await.unwrap();
    let question = humans::NewQuestion {
        id: new_id(),
        kind: humans::HumanKind::Question,
        question: "Which?".to_owned(),
        options: vec!["a".to_owned(), "b".to_owned()],
        error: None,
        expires_at_ms: now_ms() + 1000,
    };
    opened
        .store
        .write(move |sql| humans::ask(sql, &claim, &question, now_ms()))
        .await
        .unwrap();
    assert_eq!(opened.status(&id).await, SessionState::AwaitingHuman);
    assert_eq!(opened.task_status(&id).await, TaskState::HumanRequired);
    let (one, two, three) = (id.clone(), id.clone(), id.clone());
    opened
        .store
        .write(move |sql| {
            sessions::pause(sql, &one, false, now_ms())?;
            sessions::resume(sql, &one, now_ms())
        })
        .await
        .unwrap();
    assert_eq!(opened.status(&id).await, SessionState::AwaitingHuman);
    opened
        .store
        .write(move |sql| humans::answer(sql, &two, "b", now_ms()))
        .await
        .unwrap();
    assert_eq!(opened.status(&id).await, SessionState::Executing);
    let refusal = opened
        .store
        .write(move |sql| humans::answer(sql, &three, "a", now_ms()))
        .await
        .unwrap_err();
    assert_eq!(refusal.to_string(), "cannot answer while executing");
    assert!(opened.claim("w").await.is_some());
}

#[tokio::test]
async fn a_workspace_is_one_sessions_until_it_ends() {
    let opened = open();
    let shared = "/nowhere/shared".to_owned();
    for _ in 0..2 {
        let new = NewSession {
            workspace: shared.clone(),
            ..new_session()
        };
        opened.create(&new).await;
    }
    let first = opened.claim("w").await.unwrap();
    let second = opened.claim("w").await.unwrap();
    let (path, holder, other) = (shared.clone(), first.session_id.clone(), second.clone());
    opened
        .store
        .write(move |sql| {
            assert_eq!(
                workspaces::acquire(sql, &path, &holder, now_ms())?,
                workspaces::Acquired::Yes
            );
            let refused = workspaces::acquire(sql, &path, &other.session_id, now_ms())?;
            assert_eq!(refused, workspaces::Acquired::HeldBy(holder.clone()));
            tasks::park(
                sql,
                &other,
                &Parking::WorkspaceBusy {
                    path: path.clone(),
                    holder: holder.clone(),
                },
                now_ms(),
            )
        })
        .await
        .unwrap();
    assert!(opened.claim("w").await.is_none(), "it waits its turn");
    opened.complete(first).await.unwrap();
    assert_eq!(
        opened.claim("w").await.unwrap().session_id,
        second.session_id
    );
}

#[tokio::test]
async fn a_turn_without_a_claimant_is_cancelled_by_the_next_one() {
    let opened = open();
    let id = opened.create(&new_session()).await;
    let claim = opened.claim("w").await.unwrap();
    let new = iterations::NewIteration {
        id: new_id(),
        number: 1,
        agent: "rehearsal".to_owned(),
        prompt_file: "p".to_owned(),
        output_file: "o".to_owned(),
        guidance_ids: Vec::new(),
        reserve_usd: None,
        started_at_ms: now_ms(),
    };
    let target = id.clone();
    let applied = opened
        .store
        .write(move |sql| {
            iterations::begin(sql, &claim, &new, now_ms() + LEASE_MS)?;
            tasks::rescue(sql, &claim, TaskStep::Rescue, false, "restart", now_ms())?;
            sessions::cancel(sql, &target, now_ms())
        })
        .await;
    assert_eq!(applied.unwrap(), Applied::Soon, "its agent may be running");
    assert_eq!(opened.status(&id).await, SessionState::Executing);
}

#[tokio::test]
async fn caps_let_pass_what_has_room_and_nothing_else() {
    let opened = open();
    let mut ids = Vec::new();
    for agent in ["full", "full", "full", "free"] {
        let new = NewSession {
            agent: agent.to_owned(),
            created_at_ms: now_ms(),
            ..new_session()
        };
        ids.push(opened.create(&new).await);
    }
    let agents = vec![("full".to_owned(), Some(1)), ("free".to_owned(), None)];
    let by_agent = Caps {
        sessions: None,
        agents,
    };
    let by_session = Caps {
        sessions: Some(1),
        ..by_agent.clone()
    };
    for indexed in [true, false, true] {
        let index = move |sql: &mut dyn Sql| tasks::index_by_agent(sql, indexed);
        opened.store.write(index).await.unwrap();
    }
    let claim = async |caps: &Caps| {
        let caps = caps.clone();
        let within = move |sql: &mut dyn Sql| {
            tasks::claim_within(sql, &caps, "w", now_ms() + LEASE_MS, now_ms())
        };
        let claimed = opened.store.write(within).await.unwrap();
        claimed.map(|claim| claim.session_id)
    };
    assert_eq!(claim(&by_agent).await.as_ref(), Some(&ids[0]));
    assert_eq!(claim(&by_session).await, None, "one session is under way");
    assert_eq!(claim(&by_agent).await.as_ref(), Some(&ids[3]));
    assert_eq!(claim(&by_agent).await, None, "the agent is busy");
    // Another task of a session that is under way starts no session.
    let database = rusqlite::Connection::open(opened._directory.path().join("ralphd.db")).unwrap();
    let added = database.execute(
        "INSERT INTO tasks (id, session_id, task_order, task_type, description, status, agent, run_at_ms)
         VALUES ('more', ?1, 2, 'agent', 'x', 'pending', 'free', 0)",
        [&ids[0]],
    );
    assert_eq!(added, Ok(1));
    assert_eq!(claim(&by_session).await.as_ref(), Some(&ids[0]));
    assert_eq!(claim(&by_session).await, None);
    assert_eq!(claim(&Caps::default()).await.as_ref(), Some(&ids[1]));
}
