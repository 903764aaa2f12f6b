//! Sessions and those of their sub-agents, in the rows.

use super::*;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use ralphd::store::sessions::Parent;

/// A session that waits for the session of a sub-agent, whose task is claimed.
async fn family(opened: &Opened) -> (NewSession, NewSession, Claim) {
    let parent = new_session();
    opened.create(&parent).await;
    let claim = opened.claim("w").await.unwrap();
    let child = NewSession {
        parent: Some(Parent {
            session_id: parent.id.clone(),
            task_id: parent.task_id.clone(),
            depth: 1,
        }),
        workspace: parent.workspace.clone(),
        ..new_session()
    };
    let (made, workspace, holder) = (child.clone(), parent.workspace.clone(), parent.id.clone());
    let waits = move |sql: &mut dyn Sql| {
        workspaces::acquire(sql, &workspace, &holder, now_ms())?;
        sessions::create(sql, &made)?;
        tasks::settle(
            sql,
            &claim,
            TaskStep::Wait,
            &Settlement::default(),
            now_ms(),
        )
    };
    opened.store.write(waits).await.unwrap();
    let claim = opened.claim("w").await.unwrap();
    assert_eq!(claim.session_id, child.id);
    (parent, child, claim)
}

#[tokio::test]
async fn an_ended_child_is_not_pruned_before_its_parent_has_read_it() {
    let opened = open();
    let (parent, child, claim) = family(&opened).await;
    opened.complete(claim).await.unwrap();
    let (first, second) = (parent.id.clone(), child.id.clone());
    let pruned = move |sql: &mut dyn Sql| {
        sessions::set_reported(sql, &second, now_ms())?;
        let early = sessions::prune(sql, i64::MAX, 10)?;
        sessions::cancel(sql, &first, now_ms())?;
        sessions::set_reported(sql, &first, now_ms())?;
        Ok((early, sessions::prune(sql, i64::MAX, 10)?.len()))
    };
    let pruned = opened.store.write(pruned).await.unwrap();
    assert_eq!(pruned, (Vec::new(), 2));
}

#[tokio::test]
async fn the_workspace_is_held_until_the_whole_tree_has_ended() {
    let opened = open();
    let (parent, _, claim) = family(&opened).await;
    let (id, workspace) = (parent.id.clone(), parent.workspace.clone());
    let next = opened.create(&new_session()).await;
    let other = move |sql: &mut dyn Sql| workspaces::acquire(sql, &workspace, &next, now_ms());
    let ends = move |sql: &mut dyn Sql| {
        let ending = Ending::new(SessionStep::Fail, EndReason::HumanTimeout, None);
        sessions::end(sql, &id, &ending, now_ms())
    };
    opened.store.write(ends).await.unwrap();
    let held = opened.store.write(other.clone()).await.unwrap();
    assert!(matches!(held, workspaces::Acquired::HeldBy(holder) if holder.session_id == parent.id));
    let ends = move |sql: &mut dyn Sql| {
        tasks::settle(
            sql,
            &claim,
            TaskStep::Cancel,
            &Settlement::default(),
            now_ms(),
        )?;
        let ending = Ending::new(SessionStep::Cancel, EndReason::Cancelled, None);
        sessions::end(sql, &claim.session_id, &ending, now_ms())
    };
    opened.store.write(ends).await.unwrap();
    let free = opened.store.write(other).await.unwrap();
    assert_eq!(free, workspaces::Acquired::Yes);
}

#[tokio::test]
async fn a_child_that_is_being_cancelled_does_not_keep_its_parent_from_being_paused() {
    let opened = open();
    let (parent, child, _) = family(&opened).await;
    let (first, second) = (parent.id.clone(), child.id.clone());
    let paused = move |sql: &mut dyn Sql| {
        assert_eq!(sessions::cancel(sql, &second, now_ms())?, Applied::Soon);
        sessions::pause(sql, &first, false, now_ms())
    };
    let applied = opened.store.write(paused).await.unwrap();
    assert_eq!(applied, Applied::Now);
    assert_eq!(opened.status(&parent.id).await, SessionState::Paused);
}

/// How the sub-agents of one piece of work end, one after the other.
fn endings() -> impl Strategy<Value = Vec<SessionStep>> {
    let end = proptest::sample::select(vec![
        SessionStep::Complete,
        SessionStep::Fail,
        SessionStep::Cancel,
    ]);
    proptest::collection::vec(end, 1..4)
}

/// Has a task wait for one sub-agent after the other; returns what its parent knew of them after each end.
fn work_through(sql: &mut dyn Sql, ends: &[SessionStep]) -> anyhow::Result<Vec<Vec<SessionState>>> {
    let parent = new_session();
    sessions::create(sql, &parent)?;
    let mut known = Vec::new();
    for (number, step) in ends.iter().enumerate() {
        let claim = tasks::claim(sql, "w", now_ms() + LEASE_MS, now_ms())?.unwrap();
        assert_eq!(claim.task_id, parent.task_id);
        let child = NewSession {
            parent: Some(Parent {
                session_id: parent.id.clone(),
                task_id: parent.task_id.clone(),
                depth: 1,
            }),
            dedupe_key: Some(format!("{}:{number}", parent.id)),
            ..new_session()
        };
        sessions::create(sql, &child)?;
        tasks::settle(
            sql,
            &claim,
            TaskStep::Wait,
            &Settlement::default(),
            now_ms(),
        )?;
        let claim = tasks::claim(sql, "w", now_ms() + LEASE_MS, now_ms())?.unwrap();
        assert_eq!(claim.session_id, child.id, "the parent waits");
        tasks::settle(
            sql,
            &claim,
            TaskStep::Complete,
            &Settlement::default(),
            now_ms(),
        )?;
        let ending = Ending::new(*step, EndReason::Completed, None);
        sessions::end(sql, &child.id, &ending, now_ms())?;
        let children = sessions::of_errand(sql, &parent.id, &parent.task_id, &parent.id)?;
        known.push(children.iter().map(|child| child.status).collect());
    }
    sessions::cancel(sql, &parent.id, now_ms())?;
    Ok(known)
}

// Feature: agent-harnesses, Property 15: Sub-agent spawning and tracking
#[test]
fn property_15_a_parent_knows_each_of_its_sub_agents_and_how_it_stands() {
    let opened = open();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let cases = ProptestConfig::with_cases(256);
    let held = TestRunner::new(cases).run(&endings(), |ends| {
        let steps = ends.clone();
        let written = opened.store.write(move |sql| work_through(sql, &steps));
        let known = runtime.block_on(written).unwrap();
        let states: Vec<SessionState> = ends
            .iter()
            .map(|step| SessionState::Executing.after(*step, None).unwrap())
            .collect();
        for (number, seen) in known.iter().enumerate() {
            prop_assert_eq!(&seen[..], &states[..=number]);
        }
        Ok(())
    });
    held.unwrap();
}
