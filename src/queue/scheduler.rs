//! Claims ready tasks while there are free slots, runs them, and passes on what people want of them.
//! Woken by commits and by the time of the next task; it never polls the queue.

use super::{janitor, trouble};
use crate::clock::{Watchman, now_ms};
use crate::engine::{self, Door, Doors, House, Signals};
use crate::model::room::Caps;
use crate::model::session::Control;
use crate::store::driver::Sql;
use crate::store::sessions;
use crate::store::tasks::{self, Claim};
use crate::store::{Unavailable, humans, plans};
use anyhow::{Result, anyhow};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Slept at most, whatever the rows say: the wall clock may jump while we sleep by the steady one.
const MAX_SLEEP: Duration = Duration::from_secs(30);
/// Slots that became free are filled as soon as they are this part of all of them …
const SHARES: usize = 4;
/// … or after this long.
const GATHER: Duration = Duration::from_millis(1);
/// After a failing database: long enough not to spin, short enough to be back soon.
const STORE_RETRY: Duration = Duration::from_secs(1);

/// What came of one look at the rows.
struct Round {
    /// At the doors of broken tasks nobody knocked.
    claimed: Vec<(Claim, Option<Door>)>,
    /// Sessions whose running tasks are to be ended.
    unwanted: Vec<String>,
    /// When time matters next.
    next_ms: Option<i64>,
}

/// A task at whose door a knock failed; all that was claimed with it is undone.
#[derive(Debug)]
struct BrokenDoor {
    task_id: String,
    reason: String,
}

impl std::fmt::Display for BrokenDoor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "task {}: {}", self.task_id, self.reason)
    }
}

impl std::error::Error for BrokenDoor {}

/// A task that is being worked on here.
struct Active {
    claim: Claim,
    stop: watch::Sender<bool>,
}

/// Which tasks a worker claims.
enum Scope {
    /// Whatever is ready: a daemon.
    All,
    /// What belongs to one session: a run in the foreground.
    Session(String),
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
    /// Tasks that are claimed next without a knock, so that their failure is theirs alone.
    broken: BTreeSet<String>,
    /// Since when there are a few free slots, but not enough for a handful.
    gathering_since: Option<Instant>,
    clock: Watchman,
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
            broken: BTreeSet::new(),
            gathering_since: None,
            clock: Watchman::default(),
            shutdown,
        }
    }

    /// A scheduler for one session whose first task is claimed already.
    pub fn for_claim(house: Arc<House>, claim: Claim, shutdown: watch::Receiver<bool>) -> Self {
        let mut scheduler = Self::new(house, claim.worker_id.clone(), shutdown);
        scheduler.scope = Scope::Session(claim.session_id.clone());
        scheduler.start(claim, None);
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
        if matches!(self.scope, Scope::Session(_)) {
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
        while let Some(ended) = self.work.try_join_next_with_id() {
            self.conclude(ended).await;
        }
        let slots = self.house.config.queue.max_parallel as usize;
        let free = slots.saturating_sub(self.active.len());
        if let Some(pause) = self.gathers(free, slots) {
            return Ok(pause);
        }
        let round = self.claim_round(free).await?;
        let of_those = |active: &&Active| round.unwanted.contains(&active.claim.session_id);
        for active in self.active.values().filter(of_those) {
            active.stop.send_replace(true);
        }
        for (claim, door) in round.claimed {
            self.broken.remove(&claim.task_id);
            self.start(claim, door);
        }
        Ok(sleep_until(round.next_ms))
    }

    /// A round, again without those whose doors are broken: each fails in a transaction of its own, and its claim stands.
    async fn claim_round(&mut self, free: usize) -> Result<Round> {
        loop {
            let error = match self.advance(free).await {
                Ok(round) => return Ok(round),
                Err(error) => error,
            };
            match error.downcast::<BrokenDoor>() {
                Ok(broken) if self.broken.insert(broken.task_id.clone()) => {}
                Ok(broken) => return Err(broken.into()),
                Err(error) => return Err(error),
            }
        }
    }

    /// With many slots, those that become free are filled by the handful, so that claims share their commits; but none waits long.
    fn gathers(&mut self, free: usize, slots: usize) -> Option<Duration> {
        if free == 0 || free >= slots.div_ceil(SHARES) {
            self.gathering_since = None;
            return None;
        }
        let since = *self.gathering_since.get_or_insert_with(Instant::now);
        let left = GATHER.checked_sub(since.elapsed());
        if left.is_none() {
            self.gathering_since = None;
        }
        left
    }

    /// Lets time pass in the rows (due tasks, expired questions), claims as many as there is room for, sees whose work nobody wants any
    /// more, and says when time matters next.
    async fn advance(&mut self, free: usize) -> Result<Round> {
        let set_back = self.clock.was_set_back();
        let (worker, lease) = (self.worker_id.clone(), self.house.lease_until_ms());
        let (caps, config) = (self.caps.clone(), self.house.config.clone());
        let broken = self.broken.clone();
        let only = match &self.scope {
            Scope::All => None,
            Scope::Session(session) => Some(session.clone()),
        };
        let at_work = self.active.values().map(|active| &active.claim.session_id);
        let at_work: BTreeSet<String> = at_work.cloned().collect();
        self.house
            .store
            .write(move |sql| {
                let at_ms = now_ms();
                tasks::promote(sql, at_ms)?;
                if set_back {
                    tasks::promote_parked(sql, at_ms)?;
                }
                humans::expire(sql, at_ms)?;
                let unwanted = unwanted(sql, &at_work)?;
                let mut claimed = Vec::new();
                let mut doors = Doors::new(config.clone());
                while claimed.len() < free {
                    let next = match &only {
                        None => tasks::claim_within(sql, &caps, &worker, lease, at_ms)?,
                        Some(session) => tasks::claim_of_tree(sql, &worker, session, lease, at_ms)?,
                    };
                    let Some(claim) = next else {
                        break;
                    };
                    let door = match broken.contains(&claim.task_id) {
                        true => None,
                        false => Some(knock(&mut doors, sql, &claim, at_ms)?),
                    };
                    claimed.push((claim, door));
                }
                let next = [tasks::next_due(sql)?, humans::next_expiry(sql)?];
                Ok(Round {
                    claimed,
                    unwanted,
                    next_ms: next.into_iter().flatten().min(),
                })
            })
            .await
    }

    fn start(&mut self, claim: Claim, door: Option<Door>) {
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
        let execution = engine::execute(self.house.clone(), claim.clone(), door, signals);
        let handle = self.work.spawn(execution);
        self.active.insert(handle.id(), Active { claim, stop });
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
        trouble::settle(&self.house, claim, &error).await;
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

/// Only a database that cannot work is the whole round's trouble.
fn knock(doors: &mut Doors, sql: &mut dyn Sql, claim: &Claim, at_ms: i64) -> Result<Door> {
    doors.knock(sql, claim, at_ms).map_err(|error| {
        if error.is::<Unavailable>() {
            return error;
        }
        anyhow!(BrokenDoor {
            task_id: claim.task_id.clone(),
            reason: format!("{error:#}"),
        })
    })
}

/// A cancelled session's turns are ended now, and so are those that are to pause at once or that a called back plan has no use for.
fn unwanted(sql: &mut dyn Sql, at_work: &BTreeSet<String>) -> Result<Vec<String>> {
    if at_work.is_empty() {
        return Ok(Vec::new());
    }
    let wishes = sessions::controlled(sql)?.into_iter();
    let at_once = wishes.filter(|(_, wish)| matches!(wish, Control::Cancel | Control::PauseNow));
    let mut unwanted: Vec<String> = at_once.map(|(session, _)| session).collect();
    unwanted.extend(plans::all_called_back(sql, at_work)?);
    Ok(unwanted)
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

type Ended = Result<(tokio::task::Id, Result<()>), tokio::task::JoinError>;

fn sleep_until(next_ms: Option<i64>) -> Duration {
    let Some(next_ms) = next_ms else {
        return MAX_SLEEP;
    };
    let left = u64::try_from(next_ms - now_ms()).unwrap_or(0);
    Duration::from_millis(left).min(MAX_SLEEP)
}
