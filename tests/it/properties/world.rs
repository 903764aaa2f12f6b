//! A session with its plan and sub-agents, to which anything may happen that the engine or a person can do, in any order.

use super::bench::Bench;
use super::deeds::{HUMAN_TIMEOUT_MS, apply, room};
use super::happenings::{Deed, Op, Wish};
use ralphd::model::plan::Plan;
use ralphd::model::session::{EndReason, SessionStep};
use ralphd::store::driver::Sql;
use ralphd::store::humans;
use ralphd::store::sessions::{self, Ending, NewSession};
use ralphd::store::tasks::{self, Claim};

pub const LEASE_MS: i64 = 3_600_000_000;

/// One session and all that belongs to it.
pub struct World<'a> {
    pub bench: &'a Bench,
    pub root: String,
    plan: Plan,
}

impl<'a> World<'a> {
    /// A planned session, or a plain one where there is no plan.
    pub fn new(bench: &'a Bench, plan: Option<&Plan>) -> Self {
        let new = NewSession {
            planned: plan.is_some(),
            ..bench.new_session()
        };
        let mut world = Self::around(bench, &new);
        world.plan.tasks = plan.map(|plan| plan.tasks.clone()).unwrap_or_default();
        world
    }

    /// A session with all its particulars.
    pub fn around(bench: &'a Bench, new: &NewSession) -> Self {
        let plan = Plan {
            plan_summary: String::new(),
            complexity: None,
            tasks: Vec::new(),
        };
        Self {
            bench,
            root: bench.create(new),
            plan,
        }
    }

    /// At its very beginning, or with all of it that can be at work.
    pub fn at(bench: &'a Bench, plan: Option<&Plan>, begun: bool) -> Self {
        let world = match plan {
            Some(plan) if begun => Self::planned(bench, plan),
            _ => Self::new(bench, plan),
        };
        while begun && world.claim().is_some() {}
        world
    }

    /// A planned session whose tasks are there.
    pub fn planned(bench: &'a Bench, plan: &Plan) -> Self {
        let world = Self::new(bench, Some(plan));
        let claim = world.claim().unwrap();
        world.deed(&claim, Deed::GoOn).unwrap();
        world.deed(&claim, Deed::GoOn).unwrap();
        world
    }

    pub fn tree(&self) -> Vec<String> {
        self.bench.tree(&self.root)
    }

    pub fn claim(&self) -> Option<Claim> {
        let (root, at_ms) = (self.root.clone(), self.bench.tick());
        let claim =
            move |sql: &mut dyn Sql| tasks::claim_of_tree(sql, "w", &root, at_ms + LEASE_MS, at_ms);
        self.bench.write(claim).unwrap()
    }

    /// What is being worked on.
    pub fn claims(&self) -> Vec<Claim> {
        let tree = self.tree();
        let mut running = self.bench.read(tasks::running);
        running.retain(|running| tree.contains(&running.claim.session_id));
        let mut claims: Vec<Claim> = running.into_iter().map(|running| running.claim).collect();
        claims.sort_by(|one, other| one.task_id.cmp(&other.task_id));
        claims
    }

    /// Lets it happen; whether there was anybody to whom it could.
    pub fn apply(&self, op: &Op) -> anyhow::Result<bool> {
        match op {
            Op::Claim => Ok(self.claim().is_some()),
            Op::Deed(index, deed) => {
                let claims = self.claims();
                if claims.is_empty() {
                    return Ok(false);
                }
                self.deed(&claims[index.index(claims.len())], *deed)
                    .map(|()| true)
            }
            Op::Wish(index, wish) => {
                let tree = self.tree();
                self.wish(&tree[index.index(tree.len())], *wish)
                    .map(|()| true)
            }
            Op::Time => {
                let at_ms = self.bench.pass(2 * HUMAN_TIMEOUT_MS);
                self.bench
                    .write(move |sql| humans::expire(sql, at_ms))
                    .map(|_| true)
            }
        }
    }

    pub fn wish(&self, session: &str, wish: Wish) -> anyhow::Result<()> {
        let (id, at_ms) = (session.to_owned(), self.bench.tick());
        self.bench.write(move |sql| match wish {
            Wish::Pause => sessions::pause(sql, &id, false, at_ms).map(drop),
            Wish::PauseNow => sessions::pause(sql, &id, true, at_ms).map(drop),
            Wish::Resume => sessions::resume(sql, &id, at_ms).map(drop),
            Wish::Cancel => sessions::cancel(sql, &id, at_ms).map(drop),
            Wish::Answer => humans::answer(sql, &id, "this one", at_ms),
            Wish::Approve => humans::approve(sql, &id, at_ms),
            Wish::Reject => humans::reject(sql, &id, Some("not like this"), at_ms),
        })
    }

    pub fn deed(&self, claim: &Claim, deed: Deed) -> anyhow::Result<()> {
        let (claim, at_ms) = (claim.clone(), self.bench.tick());
        let (plan, child) = (self.plan.clone(), self.bench.new_session());
        self.bench.write(move |sql| {
            let beside = tasks::running_beside(sql, &claim.session_id, &claim.task_id)?;
            apply(sql, &claim, deed, (&plan, &child), beside > 0, at_ms)?;
            // Whoever finds no room has not taken any.
            match deed {
                Deed::ParkForRoom if beside > 0 => Ok(()),
                _ => tasks::free_one(sql, &room(&claim.session_id)),
            }
        })
    }

    /// So that no later case finds anything of this one in the queue.
    pub fn clear_away(&self) {
        let (tree, at_ms) = (self.tree(), self.bench.tick());
        let cleared = self.bench.write(move |sql| {
            for id in tree.iter().rev() {
                if !sessions::expect(sql, id)?.status.is_terminal() {
                    sessions::end(
                        sql,
                        id,
                        &Ending::new(SessionStep::Cancel, EndReason::Cancelled, None),
                        at_ms,
                    )?;
                }
            }
            Ok(())
        });
        cleared.unwrap();
    }
}
