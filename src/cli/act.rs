//! The verbs that act on a session: answer, approve, reject, tell, pause, resume, cancel, retry, continue.
//! They write rows; a daemon, if there is one, sees them and acts.

use super::arguments::{Again, Answer, Pause, Reject, Tell, Which};
use super::desk::Desk;
use super::exit::{Exit, Failure};
use super::output;
use super::submit::{admit, announce, from_stdin, warn_without_daemon};
use crate::clock::now_ms;
use crate::model::id::short;
use crate::model::session::{Control, SessionState, Trigger};
use crate::queue::wake;
use crate::store::Store;
use crate::store::driver::Sql;
use crate::store::sessions::{self, Applied};
use crate::store::{guidance, humans};
use crate::trigger::{again, answer as answers};
use anyhow::{Result, bail};
use serde_json::json;

pub fn answer(desk: Desk, answer: Answer) -> Result<Exit> {
    let text = words(&desk, answer.text)?;
    desk.block_on(async {
        let store = desk.existing_store()?;
        let given = answers::Answer {
            session: answer.which.id.clone(),
            answer: text,
            question: None,
        };
        let id = answers::give(&store, given).await?;
        let stands = stands(&store, &id).await?;
        say(&desk, &id, &format!("answered; {stands}"))
    })
}

pub fn approve(desk: Desk, which: &Which) -> Result<Exit> {
    decide(desk, which, "approved", |sql, id| {
        humans::approve(sql, id, now_ms())
    })
}

pub fn reject(desk: Desk, reject: Reject) -> Result<Exit> {
    let reason = reject.reason.map(|given| words(&desk, given)).transpose()?;
    let reason = reason.map(|reason| reason.trim().to_owned());
    decide(desk, &reject.which, "rejected", move |sql, id| {
        humans::reject(sql, id, reason.as_deref(), now_ms())
    })
}

fn decide(
    desk: Desk,
    which: &Which,
    done: &str,
    decision: impl Fn(&mut dyn Sql, &str) -> Result<()> + Send + 'static,
) -> Result<Exit> {
    let given = which.id.clone();
    desk.block_on(async {
        let store = desk.existing_store()?;
        let id = store
            .write(move |sql| {
                let id = sessions::resolve(sql, &given)?;
                decision(sql, &id)?;
                Ok(id)
            })
            .await?;
        let stands = stands(&store, &id).await?;
        say(&desk, &id, &format!("{done}; {stands}"))
    })
}

/// How a session goes on after a person's word.
async fn stands(store: &Store, id: &str) -> Result<String> {
    let wanted = id.to_owned();
    let session = store
        .read(move |sql| sessions::expect(sql, &wanted))
        .await?;
    let id = short(&session.id);
    Ok(match (session.status, session.control) {
        (SessionState::AwaitingHuman, None) => {
            format!("it asks for something else too, see 'ralphd show {id}'")
        }
        (SessionState::Paused, _) | (_, Some(Control::Pause | Control::PauseNow)) => {
            format!("it is paused: 'ralphd resume {id}' asks again, 'ralphd cancel {id}' ends it")
        }
        _ => "it goes on".to_owned(),
    })
}

pub fn tell(desk: Desk, tell: Tell) -> Result<Exit> {
    let text = words(&desk, tell.text)?;
    let given = tell.which.id;
    desk.block_on(async {
        let store = desk.existing_store()?;
        let id = store
            .write(move |sql| {
                let id = sessions::resolve(sql, &given)?;
                guidance::tell(sql, &id, text.trim(), now_ms())?;
                Ok(id)
            })
            .await?;
        say(&desk, &id, "was told; its next iteration reads it")
    })
}

/// The words of an argument, or of stdin where the argument is a dash.
fn words(desk: &Desk, given: String) -> Result<String> {
    let text = match given.as_str() {
        "-" => from_stdin(desk.config.inbox.max_bytes)?,
        _ => given,
    };
    if text.trim().is_empty() {
        bail!(Failure("there is nothing said; give some words".to_owned()));
    }
    Ok(text)
}

pub fn pause(desk: Desk, pause: Pause) -> Result<Exit> {
    let now = pause.now;
    let soon = match now {
        true => "is being paused; its running iteration is being ended",
        false => "will pause after its running iteration",
    };
    apply(desk, &pause.which, "paused", soon, move |sql, id| {
        sessions::pause(sql, id, now, now_ms())
    })
}

pub fn resume(desk: Desk, which: &Which) -> Result<Exit> {
    apply(desk, which, "resumed", "resumed", |sql, id| {
        sessions::resume(sql, id, now_ms())
    })
}

pub fn cancel(desk: Desk, which: &Which) -> Result<Exit> {
    apply(
        desk,
        which,
        "cancelled",
        "is being cancelled; its agent is being ended",
        |sql, id| sessions::cancel(sql, id, now_ms()),
    )
}

fn apply(
    desk: Desk,
    which: &Which,
    done: &str,
    soon: &str,
    change: impl Fn(&mut dyn Sql, &str) -> Result<Applied> + Send + 'static,
) -> Result<Exit> {
    let given = which.id.clone();
    desk.block_on(async {
        let store = desk.existing_store()?;
        let (id, applied) = store
            .write(move |sql| {
                let id = sessions::resolve(sql, &given)?;
                let applied = change(sql, &id)?;
                Ok((id, applied))
            })
            .await?;
        say(
            &desk,
            &id,
            if applied == Applied::Now { done } else { soon },
        )
    })
}

fn say(desk: &Desk, id: &str, what: &str) -> Result<Exit> {
    wake::ring(&desk.state);
    if desk.global.json {
        output::print_json(&json!({"session_id": id, "result": what}))?;
    } else if !desk.global.quiet {
        output::print_line(&format!("session {id} {what}"))?;
    }
    warn_without_daemon(desk);
    Ok(Exit::Done)
}

pub fn retry(desk: Desk, again: Again) -> Result<Exit> {
    start_again(desk, again, false)
}

pub fn continue_session(desk: Desk, again: Again) -> Result<Exit> {
    start_again(desk, again, true)
}

/// A new session after an ended one: in its workspace, or afresh.
fn start_again(desk: Desk, wanted: Again, same_workspace: bool) -> Result<Exit> {
    desk.block_on(async {
        let store = desk.existing_store()?;
        let given = wanted.which.id.clone();
        let ended = store.read(move |sql| again::ended(sql, &given)).await?;
        let request = wanted.options.over(&again::request(&ended)?);
        let origin = again::origin(ended, same_workspace, Trigger::Cli);
        let created = admit(&desk, &store, request, origin).await?;
        announce(&desk, &created)?;
        Ok(Exit::Done)
    })
}
