//! `ralphd run`: one session in the foreground. Progress on stderr, the answer on stdout; no daemon needed.

use super::arguments::Wanted;
use super::desk::{Desk, make_cassette};
use super::exit::{Exit, Failure};
use super::follow::{News, Whose};
use super::submit;
use super::submit::{conclude, read_request};
use crate::clock::now_ms;
use crate::daemon;
use crate::engine::House;
use crate::model::event::EventType;
use crate::model::request::Request;
use crate::model::session::{SessionState, Trigger};
use crate::queue::{Scheduler, identity, wake};
use crate::report;
use crate::store::sessions::{self, Created, Session};
use crate::store::tasks::{Birthright, Claim};
use crate::store::workers::{self, Role};
use crate::trigger::intake::{Origin, Reception};
use anyhow::{Result, bail};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// What other processes wrote is seen after this long; our own commits are seen at once.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Events printed in one go.
const EVENT_BATCH: u32 = 500;

pub fn run(desk: Desk, wanted: Wanted) -> Result<Exit> {
    let (request, stem) = read_request(&desk, wanted.file.as_deref(), wanted.objective)?;
    let request = wanted.options.over(&request);
    let manner = Manner {
        stem,
        record: wanted.record.as_deref(),
        no_wait: wanted.no_wait,
    };
    run_request(desk, request, manner)
}

/// How a request is run here.
#[derive(Default)]
pub struct Manner<'a> {
    /// Of its answer's file.
    pub stem: Option<String>,
    /// The cassette that is made.
    pub record: Option<&'a Path>,
    /// Whether it fails where another session works in the workspace.
    pub no_wait: bool,
}

/// Runs a request to its end.
pub fn run_request(desk: Desk, request: Request, manner: Manner<'_>) -> Result<Exit> {
    let Manner {
        stem,
        record,
        no_wait,
    } = manner;
    desk.block_on(async {
        let house = desk.house_recording(record)?;
        let worker = identity::of_this_process(Role::Run);
        let worker_id = worker.id.clone();
        let origin = Origin {
            stem,
            claimed_by: Some(Birthright {
                worker_id: worker_id.clone(),
                lease_until_ms: house.lease_until_ms(),
            }),
            no_wait,
            ..Origin::new(Trigger::Cli)
        };
        let new = Reception::from(&*house).prepare(request, origin)?;
        if let Some(file) = record {
            ensure_recordable(&house, &new.agent)?;
            make_cassette(file)?;
        }
        let claim = Claim {
            task_id: new.task_id.clone(),
            session_id: new.id.clone(),
            worker_id: worker_id.clone(),
            number: 1,
        };
        let created = house
            .store
            .write(move |sql| {
                workers::register(sql, &worker)?;
                sessions::create(sql, &new)
            })
            .await?;
        let exit = match created {
            Created::New(_) => work(&desk, &house, claim).await,
            Created::Already(id) => submit::wait_for(&desk, &house.store, &id).await,
        };
        house
            .store
            .write(move |sql| workers::stop(sql, &worker_id, now_ms()))
            .await?;
        exit
    })
}

fn ensure_recordable(house: &House, agent: &str) -> Result<()> {
    if house.roster.member(agent)?.profile.builtin.is_none() {
        bail!(Failure(format!(
            "agent '{agent}' is a program of its own and cannot be recorded; --record is for built-in agents"
        )));
    }
    Ok(())
}

/// Works on the session until it has ended or waits for a person; an interrupt cancels it.
async fn work(desk: &Desk, house: &Arc<House>, claim: Claim) -> Result<Exit> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (down, shutdown) = watch::channel(false);
    let id = claim.session_id.clone();
    let scheduler = tokio::spawn(Scheduler::for_claim(house.clone(), claim, shutdown).run());
    // Where a daemon works on this state, it tells who wants to be told.
    let (hush, telling) = watch::channel(false);
    let teller = daemon::running_pid(&house.state)
        .is_none()
        .then(|| tokio::spawn(report::notify::run(house.clone(), telling)));
    let mut progress = Progress::new(desk, None);
    let mut news = house.store.news();
    let mut interrupted = false;
    let session = loop {
        news.borrow_and_update();
        let session = progress.look(house, &id).await?;
        if session.status.is_terminal() || session.status == SessionState::AwaitingHuman {
            break session;
        }
        if let Some(asking) = asking_below(house, &id).await? {
            break asking;
        }
        tokio::select! {
            _ = news.changed() => {}
            _ = tokio::time::sleep(LOOK_EVERY) => house.store.look_for_others(),
            _ = interrupt.recv() => interrupted = cancel(house, &id).await?,
            _ = terminate.recv() => interrupted = cancel(house, &id).await?,
        }
    };
    down.send_replace(true);
    scheduler.await?;
    report::write_owed(house).await?;
    hush.send_replace(true);
    if let Some(teller) = teller {
        teller.await?;
    }
    wake::ring(&desk.state);
    let exit = conclude(desk, &house.store, &session).await?;
    Ok(if interrupted { Exit::Interrupted } else { exit })
}

/// A sub-agent that waits for a person: nobody here can answer.
async fn asking_below(house: &House, id: &str) -> Result<Option<Session>> {
    let id = id.to_owned();
    house
        .store
        .read(move |sql| sessions::asking_below(sql, &id))
        .await
}

async fn cancel(house: &House, id: &str) -> Result<bool> {
    eprintln!("ralphd: cancelling; the agent is being ended");
    let id = id.to_owned();
    house
        .store
        .write(move |sql| sessions::cancel(sql, &id, now_ms()))
        .await?;
    Ok(true)
}

/// Prints what happens, each event once.
pub struct Progress {
    seq: i64,
    quiet: bool,
    /// After an event of this type nothing is told.
    last: Option<EventType>,
}

impl Progress {
    /// Tells what happens up to an event of the type `last`, or to the end; nothing to whoever wants quiet or JSON.
    pub fn new(desk: &Desk, last: Option<EventType>) -> Self {
        Self {
            seq: 0,
            quiet: desk.global.quiet || desk.global.json,
            last,
        }
    }

    /// Prints what is new of a session, and says how it stands.
    pub async fn look(&mut self, house: &House, id: &str) -> Result<Session> {
        let (seq, session) = (self.seq, id.to_owned());
        let (news, session) = house
            .store
            .read(move |sql| {
                let news = News::after(sql, &Whose::Tree(session.clone()), seq, EVENT_BATCH)?;
                Ok((news, sessions::expect(sql, &session)?))
            })
            .await?;
        for told in &news {
            self.seq = told.event.seq;
            if let Some(line) = told.line().filter(|_| !self.quiet) {
                eprintln!("{line}");
            }
            self.quiet |= self
                .last
                .is_some_and(|last| last.as_str() == told.event.kind);
        }
        Ok(session)
    }
}
