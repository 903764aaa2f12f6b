//! Claims: in order, in time, within the caps, and never two for one task.

use super::*;

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

#[tokio::test]
async fn after_a_wrong_clock_what_was_put_aside_is_looked_at_again() {
    let opened = open();
    let put_aside = opened.create(&new_session()).await;
    let claim = opened.claim("w").await.unwrap();
    let later = NewSession {
        not_before_ms: Some(now_ms() + 3_600_000),
        ..new_session()
    };
    opened.create(&later).await;
    let parking = Parking::Until {
        at_ms: now_ms() + 5 * 3_600_000,
        reason: "a moment".to_owned(),
    };
    opened
        .store
        .write(move |sql| tasks::park(sql, &claim, &parking, now_ms()))
        .await
        .unwrap();
    assert!(opened.claim("w").await.is_none());
    opened
        .store
        .write(|sql| tasks::promote_parked(sql, now_ms()))
        .await
        .unwrap();
    assert_eq!(opened.claim("w").await.unwrap().session_id, put_aside);
    assert!(
        opened.claim("w").await.is_none(),
        "that has a time of its own"
    );
}

#[tokio::test]
async fn what_is_rolled_back_is_no_news() {
    let opened = open();
    let mut commits = opened.store.commits();
    let before = *commits.borrow_and_update();
    let new = new_session();
    let refused = opened
        .store
        .write(move |sql| -> anyhow::Result<()> {
            sessions::create(sql, &new)?;
            anyhow::bail!("not this time")
        })
        .await;
    assert!(refused.is_err());
    opened.create(&new_session()).await;
    commits.changed().await.unwrap();
    assert_eq!(*commits.borrow(), before + 1);
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

#[tokio::test]
async fn a_released_task_keeps_its_place() {
    let opened = open();
    let now = now_ms();
    let aged = |age_ms| NewSession {
        created_at_ms: now - age_ms,
        ..new_session()
    };
    let first = opened.create(&aged(20)).await;
    opened.create(&aged(10)).await;
    let claim = opened.claim("w").await.unwrap();
    opened
        .store
        .write(move |sql| tasks::park(sql, &claim, &Parking::Released, now_ms()))
        .await
        .unwrap();
    assert_eq!(opened.claim("next").await.unwrap().session_id, first);
}
