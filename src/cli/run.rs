//! `ralphd run`: one session in the foreground. Progress on stderr, the answer on stdout; no daemon needed.

use super::arguments::Wanted;
use super::desk::{Desk, make_cassette};
use super::exit::{Exit, Failure};
use super::submit::{conclude, read_request};
use super::{follow, submit};
use crate::clock::now_ms;
use crate::engine::House;
use crate::model::session::{SessionState, Trigger};
use crate::queue::{Scheduler, identity, wake};
use crate::report;
use crate::store::events;
use crate::store::sessions::{self, Created, Session};
use crate::store::tasks::{Birthright, Claim};
use crate::store::workers::{self, Role};
use crate::trigger::intake::{Origin, Reception};
use anyhow::{Result, bail};
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
    desk.block_on(async {
        let house = desk.house_recording(wanted.record.as_deref())?;
        let worker = identity::of_this_process(Role::Run);
        let worker_id = worker.id.clone();
        let origin = Origin {
            stem,
            claimed_by: Some(Birthright {
                worker_id: worker_id.clone(),
                lease_until_ms: house.lease_until_ms(),
            }),
            ..Origin::new(Trigger::Cli)
        };
        let new = Reception::from(&*house).prepare(request, origin)?;
        if let Some(file) = &wanted.record {
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
    let mut progress = Progress {
        seq: 0,
        quiet: desk.global.quiet || desk.global.json,
    };
    let mut news = house.store.news();
    let mut interrupted = false;
    let session = loop {
        news.borrow_and_update();
        let session = progress.look(house, &id).await?;
        if session.status.is_terminal() || session.status == SessionState::AwaitingHuman {
            break session;
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
    wake::ring(&desk.state);
    let exit = conclude(desk, &session)?;
    Ok(if interrupted { Exit::Interrupted } else { exit })
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
struct Progress {
    seq: i64,
    quiet: bool,
}

impl Progress {
    async fn look(&mut self, house: &House, id: &str) -> Result<Session> {
        let (seq, session) = (self.seq, id.to_owned());
        let (news, session) = house
            .store
            .read(move |sql| {
                let news = events::after(sql, Some(&session), seq, EVENT_BATCH)?;
                Ok((news, sessions::expect(sql, &session)?))
            })
            .await?;
        for event in &news {
            self.seq = event.seq;
            if let Some(line) = follow::line_of(event).filter(|_| !self.quiet) {
                eprintln!("{line}");
            }
        }
        Ok(session)
    }
}
