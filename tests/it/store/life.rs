//! The life of a session in the rows: steps, wishes, questions, workspaces.

use super::*;

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
        error_type: None,
        result: None,
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
            let workspaces::Acquired::HeldBy(found) = refused else {
                panic!("it was free");
            };
            assert_eq!(found.session_id, holder);
            tasks::park(
                sql,
                &other,
                &Parking::WorkspaceBusy {
                    path: path.clone(),
                    holder: found,
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
        agent: "rehearsal".to_owned(),
        prompt_file: "p".to_owned(),
        output_file: "o".to_owned(),
        guidance_ids: Vec::new(),
        reserve_usd: None,
        start: None,
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

/// What is wished of a session between its loop's last look and the parking of its task.
#[tokio::test]
async fn a_wish_takes_effect_when_the_task_is_parked() {
    type Wish = fn(&mut dyn Sql, &str) -> anyhow::Result<()>;
    let cancel: Wish = |sql, id| sessions::cancel(sql, id, now_ms()).map(drop);
    let pause: Wish = |sql, id| sessions::pause(sql, id, false, now_ms()).map(drop);
    let withdraw: Wish = |sql, id| {
        sessions::pause(sql, id, false, now_ms())?;
        sessions::resume(sql, id, now_ms()).map(drop)
    };
    let limit = || Parking::Until {
        at_ms: now_ms() + 3_600_000,
        reason: "usage limit of a".to_owned(),
    };
    let busy = || Parking::WorkspaceBusy {
        path: "/nowhere".to_owned(),
        holder: workspaces::Holder {
            session_id: "x".to_owned(),
            since_ms: 0,
        },
    };
    use SessionState::{Cancelled, Executing, Paused};
    for (name, wish, parking, expected, claimable) in [
        ("a parked one", cancel, limit(), Cancelled, false),
        ("a parked one", pause, limit(), Paused, false),
        ("a parked one", withdraw, limit(), Executing, false),
        ("one without a workspace", cancel, busy(), Cancelled, false),
        ("one without a workspace", pause, busy(), Paused, false),
        ("one that pauses", cancel, Parking::Paused, Cancelled, false),
        ("one that pauses", pause, Parking::Paused, Paused, false),
        (
            "one that pauses",
            withdraw,
            Parking::Paused,
            Executing,
            true,
        ),
        ("a released one", pause, Parking::Released, Paused, false),
    ] {
        let opened = open();
        let id = opened.create(&new_session()).await;
        let claim = opened.claim("w").await.unwrap();
        let target = id.clone();
        let what = format!("{name}: {parking:?}");
        opened
            .store
            .write(move |sql| {
                wish(sql, &target)?;
                tasks::park(sql, &claim, &parking, now_ms())
            })
            .await
            .unwrap();
        assert_eq!(opened.status(&id).await, expected, "{what}");
        assert_eq!(opened.claim("w").await.is_some(), claimable, "{what}");
        let wishes = opened.store.read(sessions::controlled).await.unwrap();
        assert_eq!(wishes, [], "{what}");
    }
}

#[tokio::test]
async fn a_cancellation_is_not_forgotten_over_a_question_or_a_change_of_agents() {
    let asks: fn(&mut dyn Sql, &Claim) -> anyhow::Result<()> = |sql, claim| {
        let question = humans::NewQuestion {
            id: new_id(),
            kind: humans::HumanKind::Question,
            question: "Which one?".to_owned(),
            options: Vec::new(),
            error: None,
            error_type: None,
            result: None,
            expires_at_ms: now_ms() + 1000,
        };
        humans::ask(sql, claim, &question, now_ms())
    };
    let hands_over: fn(&mut dyn Sql, &Claim) -> anyhow::Result<()> = |sql, claim| {
        let over = tasks::HandOver {
            from: "a".to_owned(),
            to: "b".to_owned(),
            reason: None,
            until_ms: None,
            queued_since_ms: now_ms(),
        };
        tasks::hand_over(sql, claim, &over, now_ms())
    };
    for leave in [asks, hands_over] {
        let opened = open();
        let id = opened.create(&new_session()).await;
        let claim = opened.claim("w").await.unwrap();
        opened
            .store
            .write(move |sql| {
                sessions::cancel(sql, &claim.session_id, now_ms())?;
                leave(sql, &claim)
            })
            .await
            .unwrap();
        assert_eq!(opened.status(&id).await, SessionState::Cancelled);
    }
}
