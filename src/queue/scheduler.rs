//! Claims ready tasks while there are free slots, runs them, and passes on what people want of them.
//! Woken by commits and by the time of the next task; it never polls the queue.

use super::janitor;
use crate::clock::now_ms;
use crate::engine::{self, House, Signals};
use crate::model::iteration::Verdict;
use crate::model::room::Caps;
use crate::model::session::{Control, EndReason, SessionStep};
use crate::model::task::TaskStep;
use crate::store::sessions::{self, Ending, Tally};
use crate::store::tasks::{self, Claim, ClaimLost, Settlement};
use crate::store::{Unavailable, humans, iterations};
use anyhow::{Result, anyhow};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Slept at most, whatever the rows say: the wall clock may jump while we sleep by the steady one.
const MAX_SLEEP: Duration = Duration::from_secs(30);
/// After a failing database: long enough not to spin, short enough to be back soon.
const STORE_RETRY: Duration = Duration::from_secs(1);

/// A task that is being worked on here.
struct Active {
    claim: Claim,
    stop: watch::Sender<bool>,
}

/// Which tasks a worker claims.
enum Scope {
    /// Whatever is ready: a daemon.
    All,
    /// One task: a session in the foreground.
    Task(String),
}

/// The running queue of one worker.
pub struct Scheduler {
    house: Arc<House>,
    worker_id: String,
    scope: Scope,
    caps: Caps,
    /// By the runtime's handle: a task that was given back may be claimed anew before its former work is over here.
    active: HashMap<tokio::task::Id, Active>,
    work: JoinSet<Result<()>>,
    shutdown: watch::Receiver<bool>,
}

impl Scheduler {
    /// A scheduler that claims in the name of `worker_id` until `shutdown` turns true.
    pub fn new(house: Arc<House>, worker_id: String, shutdown: watch::Receiver<bool>) -> Self {
        Self {
            caps: caps_of(&house),
            house,
            worker_id,
            scope: Scope::All,
            active: HashMap::new(),
            work: JoinSet::new(),
            shutdown,
        }
    }

    /// A scheduler for one task that is claimed already, and claimed again should it be parked.
    pub fn for_claim(house: Arc<House>, claim: Claim, shutdown: watch::Receiver<bool>) -> Self {
        let mut scheduler = Self::new(house, claim.worker_id.clone(), shutdown);
        scheduler.scope = Scope::Task(claim.task_id.clone());
        scheduler.start(claim);
        scheduler
    }

    /// Runs until shutdown, then ends the running turns, parks their tasks and returns.
    pub async fn run(mut self) {
        self.index_by_agent().await;
        let mut commits = self.house.store.commits();
        let mut heartbeat = tokio::time::interval(self.house.config.queue.heartbeat.into());
        heartbeat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !*self.shutdown.borrow() {
            commits.borrow_and_update();
            let sleep = match self.turn_over().await {
                Ok(sleep) => sleep,
                Err(error) => {
                    tracing::error!("the queue cannot use its database: {error:#}");
                    STORE_RETRY
                }
            };
            self.sleep(sleep, &mut commits, &mut heartbeat).await;
        }
        self.stop().await;
    }

    /// Until there may be something to do. A heartbeat is no reason: what it takes back is told by its commit.
    async fn sleep(
        &mut self,
        longest: Duration,
        commits: &mut watch::Receiver<u64>,
        heartbeat: &mut tokio::time::Interval,
    ) {
        let until = tokio::time::Instant::now() + longest;
        loop {
            tokio::select! {
                _ = heartbeat.tick() => self.beat().await,
                _ = commits.changed() => return,
                _ = tokio::time::sleep_until(until) => return,
                Some(ended) = self.work.join_next_with_id() => return self.conclude(ended).await,
                _ = self.shutdown.changed() => return,
            }
        }
    }

    /// Without it a claim is as right and only slower, so that its failure stops nobody.
    async fn index_by_agent(&self) {
        if matches!(self.scope, Scope::Task(_)) {
            return;
        }
        let wanted = self.caps.by_agent();
        let store = &self.house.store;
        let indexed = store.write_quietly(move |sql| tasks::index_by_agent(sql, wanted));
        if let Err(error) = indexed.await {
            tracing::warn!("the queue is not sorted by agent: {error:#}");
        }
    }

    /// One round: pass on wishes, fill the free slots. Returns how long there is nothing to do by the clock.
    async fn turn_over(&mut self) -> Result<Duration> {
        self.pass_on_wishes().await?;
        let slots = self.house.config.queue.max_parallel as usize;
        loop {
            let full = self.active.len() >= slots;
            let (claim, next_ms) = self.advance(!full).await?;
            match claim {
                Some(claim) => self.start(claim),
                None => return Ok(sleep_until(next_ms)),
            }
        }
    }

    /// Lets time pass in the rows (due tasks, expired questions), claims if asked to, and says when time matters next.
    async fn advance(&self, claim: bool) -> Result<(Option<Claim>, Option<i64>)> {
        let (worker, lease) = (self.worker_id.clone(), self.house.lease_until_ms());
        let caps = self.caps.clone();
        let only = match &self.scope {
            Scope::All => None,
            Scope::Task(task) => Some(task.clone()),
        };
        self.house
            .store
            .write(move |sql| {
                let at_ms = now_ms();
                tasks::promote(sql, at_ms)?;
                humans::expire(sql, at_ms)?;
                let claimed = match &only {
                    _ if !claim => None,
                    None => tasks::claim_within(sql, &caps, &worker, lease, at_ms)?,
                    Some(task) => tasks::claim_one(sql, &worker, task, lease, at_ms)?,
                };
                let next = [tasks::next_due(sql)?, humans::next_expiry(sql)?];
                Ok((claimed, next.into_iter().flatten().min()))
            })
            .await
    }

    fn start(&mut self, claim: Claim) {
        let (stop, stopped) = watch::channel(false);
        let signals = Signals {
            stop: stopped,
            shutdown: self.shutdown.clone(),
        };
        tracing::info!(
            session = claim.session_id,
            claim = claim.number,
            "task claimed"
        );
        let execution = engine::execute(self.house.clone(), claim.clone(), signals);
        let handle = self.work.spawn(execution);
        self.active.insert(handle.id(), Active { claim, stop });
    }

    /// A cancelled session's turn is ended now, and so is one that is to pause at once.
    async fn pass_on_wishes(&self) -> Result<()> {
        if self.active.is_empty() {
            return Ok(());
        }
        let wishes = self.house.store.read(sessions::controlled).await?;
        for (session, control) in wishes {
            if !matches!(control, Control::Cancel | Control::PauseNow) {
                continue;
            }
            for active in self
                .active
                .values()
                .filter(|active| active.claim.session_id == session)
            {
                active.stop.send_replace(true);
            }
        }
        Ok(())
    }

    async fn beat(&self) {
        let claims: Vec<Claim> = self
            .active
            .values()
            .map(|active| active.claim.clone())
            .collect();
        if let Err(error) = janitor::round(&self.house, &self.worker_id, claims).await {
            tracing::error!("the heartbeat failed: {error:#}");
        }
    }

    async fn conclude(&mut self, ended: Ended) {
        let (id, result) = match ended {
            Ok((id, result)) => (id, result),
            Err(panic) => (panic.id(), Err(anyhow!("the loop broke down: {panic}"))),
        };
        let (Some(Active { claim, .. }), Err(error)) = (self.active.remove(&id), result) else {
            return;
        };
        if error.is::<ClaimLost>() {
            tracing::warn!("{error}");
        } else if may_pass(&error) {
            // Nothing is settled: when the lease runs out the task is claimed again and goes on from its rows.
            tracing::error!(session = claim.session_id, "left for later: {error:#}");
        } else {
            self.fail(claim, format!("{error:#}")).await;
        }
    }

    /// An error that is neither the agent's nor the database's ends the session with its reason, never in silence.
    async fn fail(&self, claim: Claim, detail: String) {
        tracing::error!(session = claim.session_id, "session failed: {detail}");
        if let Err(error) = self.end_turn(&claim.session_id).await {
            // Not settled: an agent without a session is worse than a session that is tried again when its lease runs out.
            tracing::error!("its turn could not be ended, so it is left for later: {error:#}");
            return;
        }
        let settlement = Settlement {
            error_type: Some(EndReason::AgentFailed.as_str().to_owned()),
            error_message: Some(detail.clone()),
            ..Settlement::default()
        };
        let ending = Ending {
            tally: Tally::Failed,
            ..Ending::new(SessionStep::Fail, EndReason::AgentFailed, Some(detail))
        };
        let settled = self
            .house
            .store
            .write(move |sql| {
                iterations::abandon(sql, &claim.session_id, Verdict::Cancelled, now_ms())?;
                engine::end_unfinished(sql, &claim, TaskStep::Fail, &settlement, &ending)
            })
            .await;
        if let Err(error) = settled {
            tracing::error!("a failed session could not be ended: {error:#}");
        }
    }

    /// A turn that an earlier daemon started may still run although its session cannot go on.
    async fn end_turn(&self, session: &str) -> Result<()> {
        let id = session.to_owned();
        let last = self
            .house
            .store
            .read(move |sql| iterations::last(sql, &id))
            .await?;
        let Some(iteration) = last.map(|last| last.id) else {
            return Ok(());
        };
        let supervisor = &self.house.roster.supervision().supervisor;
        let after = [
            engine::summary_turn(&iteration),
            engine::verify_turn(&iteration),
        ];
        for turn in after.into_iter().chain([iteration]) {
            supervisor.end(&self.house.turn_record(&turn)).await?;
        }
        Ok(())
    }

    /// Ends the running turns and waits until every task is parked.
    async fn stop(&mut self) {
        for active in self.active.values() {
            active.stop.send_replace(true);
        }
        while let Some(ended) = self.work.join_next_with_id().await {
            self.conclude(ended).await;
        }
    }
}

/// How much may be under way at once, beside the number of tasks.
fn caps_of(house: &House) -> Caps {
    let config = &house.config;
    let agents = house.roster.members().map(|member| {
        let configured = config.agents.get(&member.name);
        let most = configured.and_then(|agent| agent.max_parallel);
        (member.name.clone(), most)
    });
    Caps {
        sessions: config.queue.max_sessions,
        agents: agents.collect(),
    }
}

/// The machine is at fault, not the session: a full disk, a busy database, too many open files.
fn may_pass(error: &anyhow::Error) -> bool {
    use std::io::ErrorKind::*;
    error.chain().any(|cause| {
        let io = cause
            .downcast_ref::<std::io::Error>()
            .map(std::io::Error::kind);
        cause.is::<Unavailable>()
            || matches!(
                io,
                Some(StorageFull | QuotaExceeded | ReadOnlyFilesystem | OutOfMemory | WouldBlock)
            )
            || cause
                .downcast_ref::<std::io::Error>()
                .and_then(std::io::Error::raw_os_error)
                .is_some_and(|code| [libc::EMFILE, libc::ENFILE].contains(&code))
    })
}

type Ended = Result<(tokio::task::Id, Result<()>), tokio::task::JoinError>;

fn sleep_until(next_ms: Option<i64>) -> Duration {
    let Some(next_ms) = next_ms else {
        return MAX_SLEEP;
    };
    let left = u64::try_from(next_ms - now_ms()).unwrap_or(0);
    Duration::from_millis(left).min(MAX_SLEEP)
}
