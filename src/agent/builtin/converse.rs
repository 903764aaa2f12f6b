//! The process of one turn: reads its assignment from the journal, sets up everything, holds the conversation, says how it ended.

use super::conversation::{Conversation, Ending};
use super::journal::Journal;
use super::mouth::{self, tell};
use super::settings::Settings;
use super::setup::set_up;
use crate::agent::provider::{Question, structured};
use crate::agent::stream::ralphd::{How, Line};
use crate::model::conversation::Reply;
use crate::model::failure::{Failure, FailureClass};
use crate::secrets::Vault;
use anyhow::{Context, Result};
use serde_json::Value as Json;
use std::path::Path;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

const SIGN_OF_LIFE_EVERY: Duration = Duration::from_secs(15);

/// Takes a turn by its journal, and returns the exit code of the process.
pub fn converse(journal: &Path) -> i32 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let ending = runtime
        .context("cannot start")
        .and_then(|runtime| runtime.block_on(until_stopped(journal)));
    let said = match ending {
        Ok(ending) => tell_end(ending),
        Err(error) => tell_end(Ending::Failed(Failure {
            class: FailureClass::Configuration,
            detail: format!("{error:#}"),
            reset_at_ms: None,
        })),
    };
    i32::from(said.is_err())
}

fn tell_end(ending: Ending) -> Result<()> {
    let (how, detail, failure) = match ending {
        Ending::Over(how, detail) => (how, detail, None),
        Ending::Failed(failure) => (How::Failed, failure.detail.clone(), Some(failure)),
    };
    tell(&Line::Ended {
        how,
        class: failure
            .as_ref()
            .map(|failure| failure.class.as_str().into()),
        detail: (!detail.is_empty()).then(|| detail.into()),
        reset_at_ms: failure.and_then(|failure| failure.reset_at_ms),
    })
}

/// The conversation, unless the supervisor wants it to end: then what it has under way is dropped, and ended with it.
async fn until_stopped(journal: &Path) -> Result<Ending> {
    let mut stop = signal(SignalKind::terminate())?;
    let turn = take_turn(journal);
    tokio::pin!(turn);
    loop {
        tokio::select! {
            // First: the supervisor tells everybody to stop, and a tool that obeys must not lead to one more question.
            biased;
            _ = stop.recv() => return Ok(Ending::Over(How::Stopped, String::new())),
            ending = &mut turn => return ending,
            // A long reply or a long command is no silence: each has a deadline of its own.
            () = tokio::time::sleep(SIGN_OF_LIFE_EVERY) => tell(&Line::Alive)?,
        }
    }
}

async fn take_turn(journal: &Path) -> Result<Ending> {
    let peeked = Journal::assignment(journal)?;
    let key = key(&peeked.settings);
    let vault = Vault::of_environment(&peeked.settings.secret_names);
    if let Some(key) = &key {
        vault.learn(key);
    }
    let mask = vault.mask();
    let (journal, past) = Journal::open(journal, mask.clone())?;
    let mut conversation = set_up(journal, &past, key, mask)?;
    if let Some(schema) = &past.assignment.answer_schema {
        return answer(&mut conversation, schema).await;
    }
    match conversation.take_up(past.entries.last())? {
        Some(ending) => Ok(ending),
        None => conversation.hold().await,
    }
}

/// One answer of a given form, without tools.
async fn answer(conversation: &mut Conversation, schema: &Json) -> Result<Ending> {
    let question = Question {
        system: &conversation.words.system,
        history: &conversation.history,
        tools: &[],
        schema: Some(schema),
        max_output_tokens: conversation.settings.max_output_tokens,
    };
    let (answer, used) = structured::ask(&*conversation.provider, &question).await;
    let tries = used.len();
    for (index, usage) in used.into_iter().enumerate() {
        let words = answer.as_ref().ok().filter(|_| index + 1 == tries);
        let reply = Reply {
            text: words.map(Json::to_string).unwrap_or_default(),
            usage,
            ..Reply::default()
        };
        conversation.number += 1;
        mouth::tell_reply(conversation.number, &reply)?;
    }
    Ok(match answer {
        Ok(_) => Ending::Over(How::Finished, String::new()),
        Err(failure) => Ending::Failed(failure),
    })
}

fn key(settings: &Settings) -> Option<String> {
    let name = settings.key_variable.as_ref()?;
    std::env::var(name).ok().filter(|key| !key.is_empty())
}
