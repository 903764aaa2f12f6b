//! Whatever happens in whatever order: no verb breaks, no task runs that may not, no count is off, and nothing is stuck.

use super::bench::{Bench, Rows, for_all};
use super::happenings::{Op, ops, plans_of};
use super::world::World;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use ralphd::model::session::InvalidStep;
use ralphd::store::humans::NoAnswer;
use rusqlite::types::Value;
use std::collections::BTreeMap;

type Row = BTreeMap<String, Value>;

fn text<'a>(row: &'a Row, column: &str) -> &'a str {
    match &row[column] {
        Value::Text(text) => text,
        _ => "",
    }
}

fn int(row: &Row, column: &str) -> i64 {
    match row[column] {
        Value::Integer(number) => number,
        _ => 0,
    }
}

/// All that is known of one session.
struct Sight<'a> {
    session: &'a Row,
    tasks: Vec<&'a Row>,
    questions: Vec<&'a Row>,
    children: Vec<&'a Row>,
}

impl<'a> Sight<'a> {
    fn of(rows: &'a Rows, session: &'a Row) -> Self {
        let id = text(session, "id");
        let of = |table: &str, column: &str| -> Vec<&'a Row> {
            let rows = rows.iter().filter(|((name, _), _)| *name == table);
            rows.map(|(_, row)| row)
                .filter(|row| text(row, column) == id)
                .collect()
        };
        Sight {
            session,
            tasks: of("tasks", "session_id"),
            questions: of("human_requests", "session_id"),
            children: of("sessions", "parent_session_id"),
        }
    }

    fn status(&self) -> &str {
        text(self.session, "status")
    }

    fn ended(&self) -> bool {
        self.session["ended_at_ms"] != Value::Null
    }

    fn count(&self, status: &str) -> i64 {
        self.tasks
            .iter()
            .filter(|task| text(task, "status") == status)
            .count() as i64
    }

    fn claimable(&self) -> bool {
        let mut pending = self
            .tasks
            .iter()
            .filter(|task| text(task, "status") == "pending");
        pending.any(|task| int(task, "held") == 0)
    }

    fn is_asked(&self) -> bool {
        self.questions
            .iter()
            .any(|question| text(question, "status") == "waiting")
    }

    fn open_child(&self) -> bool {
        self.children
            .iter()
            .any(|child| child["ended_at_ms"] == Value::Null)
    }

    fn keeps_still(&self) -> TestCaseResult {
        if matches!(self.status(), "paused" | "awaiting_human") {
            // Only to be cancelled.
            let cancelled = text(self.session, "control") == "cancel";
            prop_assert!(
                cancelled || !self.claimable(),
                "a task may be claimed while {}",
                self.status()
            );
        } else {
            prop_assert_eq!(
                &self.session["human_context"],
                &Value::Null,
                "nobody is asked"
            );
        }
        if self.status() == "paused" {
            prop_assert_eq!(self.count("running"), 0, "a task runs while paused");
        }
        prop_assert!(!self.is_asked() || matches!(self.status(), "paused" | "awaiting_human"));
        Ok(())
    }

    /// Somebody or something will move it on: a claimant, a child, a person.
    fn is_not_stuck(&self) -> TestCaseResult {
        if self.ended() {
            return Ok(());
        }
        let control = text(self.session, "control");
        let moves = self.count("running") > 0 || self.claimable() || self.open_child();
        let waits_for_person =
            control != "cancel" && (self.status() == "paused" || self.is_asked());
        prop_assert!(
            moves || waits_for_person,
            "stuck while {} (wish: '{}')",
            self.status(),
            control
        );
        // A pause that was noted needs a claimant to obey it, or takes effect at once.
        if control.starts_with("pause") {
            prop_assert!(
                self.count("running") > 0 || self.claimable() || self.status() == "awaiting_human"
            );
        }
        Ok(())
    }

    fn counts_are_right(&self) -> TestCaseResult {
        let session = self.session;
        let own = self
            .tasks
            .iter()
            .find(|task| text(task, "task_type") == "plan");
        let Some(own) = own else {
            prop_assert_eq!(int(session, "task_count"), 1);
            return Ok(());
        };
        let own_is = |state: &str| i64::from(text(own, "status") == state);
        prop_assert_eq!(int(session, "task_count"), self.tasks.len() as i64 - 1);
        let completed = self.count("completed") - own_is("completed");
        prop_assert_eq!(int(session, "completed_task_count"), completed);
        prop_assert_eq!(
            int(session, "failed_task_count"),
            self.count("failed") - own_is("failed")
        );
        if text(own, "status") == "waiting_dependency" {
            let open = [
                "pending",
                "waiting_dependency",
                "running",
                "retrying",
                "human_required",
            ];
            let open: i64 = open.iter().map(|state| self.count(state)).sum();
            prop_assert_eq!(
                int(own, "unmet_dependency_count"),
                open - 1,
                "what the plan waits for"
            );
            prop_assert!(open > 1, "it waits for nothing");
        }
        Ok(())
    }

    fn is_tidy_after_its_end(&self) -> TestCaseResult {
        if !self.ended() {
            return Ok(());
        }
        prop_assert!(!self.is_asked());
        prop_assert_eq!(&self.session["control"], &Value::Null);
        for task in &self.tasks {
            let over = ["completed", "failed", "skipped", "cancelled", "blocked"];
            prop_assert!(
                over.contains(&text(task, "status")),
                "{} after the end",
                text(task, "status")
            );
            prop_assert_eq!(
                &task["waits_for"],
                &Value::Null,
                "it would take the room of another"
            );
        }
        Ok(())
    }
}

/// A task waits for as many others as it depends on and that are not done.
fn dependencies_are_right(rows: &Rows) -> TestCaseResult {
    for ((table, id), task) in rows {
        if *table != "tasks" || text(task, "task_type") == "plan" {
            continue;
        }
        let of_task = rows
            .iter()
            .filter(|((table, _), row)| *table == "task_deps" && text(row, "task_id") == id);
        let on: Vec<&str> = of_task
            .map(|(_, row)| {
                text(
                    &rows[&("tasks", text(row, "depends_on_task_id").to_owned())],
                    "status",
                )
            })
            .collect();
        let unmet = on
            .iter()
            .filter(|state| !["completed", "skipped"].contains(*state))
            .count();
        prop_assert_eq!(int(task, "unmet_dependency_count"), unmet as i64);
        if ["pending", "running", "human_required", "completed"].contains(&text(task, "status")) {
            prop_assert_eq!(unmet, 0, "{} although it waits", text(task, "status"));
        }
    }
    Ok(())
}

pub fn all_is_well(bench: &Bench, tree: &[String]) -> TestCaseResult {
    let rows = bench.rows(tree);
    dependencies_are_right(&rows)?;
    for (_, session) in rows.iter().filter(|((table, _), _)| *table == "sessions") {
        let sight = Sight::of(&rows, session);
        sight.keeps_still()?;
        sight.is_not_stuck()?;
        sight.counts_are_right()?;
        sight.is_tidy_after_its_end()?;
    }
    Ok(())
}

/// A claimant can always leave; a person may be refused, with the state and the step.
fn is_fair(op: &Op, answer: &anyhow::Result<bool>) -> TestCaseResult {
    let Err(error) = answer else {
        return Ok(());
    };
    let refusal = error.is::<InvalidStep>() || error.is::<NoAnswer>();
    prop_assert!(
        matches!(op, Op::Wish(..)) && refusal,
        "{:?}: {:#}",
        op,
        error
    );
    Ok(())
}

#[test]
fn nothing_breaks_and_nothing_is_stuck() {
    let cases = (
        any::<bool>(),
        proptest::option::weighted(0.9, plans_of(4)),
        ops(20),
    );
    for_all(cases, |bench, (begun, plan, ops)| {
        let world = World::at(bench, plan.as_ref(), begun);
        let checked = ops.iter().try_for_each(|op| {
            is_fair(op, &world.apply(op))?;
            all_is_well(bench, &world.tree())
        });
        world.clear_away();
        checked
    });
}
