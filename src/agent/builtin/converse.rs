//! The process of one turn: reads its assignment from the journal, sets up everything, holds the conversation, says how it ended.

use super::conversation::{Conversation, Ending};
use super::hooks::Hooks;
use super::journal::{Entry, Journal, Past};
use super::mouth::{self, tell};
use super::settings::{Assignment, Settings, Source, Words};
use super::workbench::Workbench;
use crate::agent::provider::recorded::{Cassette, Recorder};
use crate::agent::provider::{
    Dialect, Endpoint, Notice, Provider, Question, Secret, over_http, structured,
};
use crate::agent::stream::ralphd::{How, Line};
use crate::agent::tool::{External, Room, ToolCard, toolbox};
use crate::config::agent::ExternalDirectory;
use crate::model::backoff::Patience;
use crate::model::conversation::Reply;
use crate::model::conversation::compaction::text_tokens;
use crate::model::conversation::doom::Doom;
use crate::model::conversation::permit::Permit;
use crate::model::failure::{Failure, FailureClass};
use crate::model::mask::Mask;
use crate::secrets::Vault;
use anyhow::{Context, Result};
use serde_json::Value as Json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

const SIGN_OF_LIFE_EVERY: Duration = Duration::from_secs(15);
/// A limit that is lifted within this time is waited out inside the turn; for a longer one the session is parked.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

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

fn set_up(
    journal: Journal,
    past: &Past,
    key: Option<String>,
    mask: Arc<Mask>,
) -> Result<Conversation> {
    let assignment = past.assignment.clone();
    let settings = assignment.settings.clone();
    let objective = std::fs::read(&assignment.prompt_file).with_context(|| {
        format!(
            "cannot read the prompt {}",
            assignment.prompt_file.display()
        )
    })?;
    let history = past.history(String::from_utf8_lossy(&objective).into_owned());
    let environment = environment(&settings);
    let tools = toolbox(room(&assignment, environment.clone()))?;
    let cards: Vec<ToolCard> = tools.iter().map(|tool| tool.card()).collect();
    let allowed = |card: &ToolCard| {
        let listed = settings.tools.as_ref();
        listed.is_none_or(|listed| listed.iter().any(|name| name == card.name))
    };
    let known: Vec<String> = cards.iter().map(|card| card.name.to_owned()).collect();
    let cards: Vec<ToolCard> = cards.into_iter().filter(|card| allowed(card)).collect();
    let permitted = cards.iter().map(|card| card.name.to_owned()).collect();
    tell(&Line::Begun {
        model: settings.model.as_str().into(),
        steps_before: count(&past.entries, |entry| matches!(entry, Entry::Reply(_))),
    })?;
    let number = mouth::tell_again(&past.entries)?;
    let words = Words::load(settings.prompts.as_deref())?;
    let card_tokens: u64 = cards
        .iter()
        .map(|card| text_tokens(card.description) + text_tokens(&card.parameters.to_string()))
        .sum();
    Ok(Conversation {
        fixed_tokens: text_tokens(&words.system) + card_tokens,
        reported: past.reported(),
        words,
        provider: provider(&assignment, number, key, &mask)?,
        workbench: Workbench {
            permit: Permit::new(
                known,
                permitted,
                u64::from(settings.max_tool_calls),
                executed(&past.entries),
            ),
            doom: Doom::of(&history, settings.doom_loop_threshold),
            hooks: Hooks::new(assignment, environment, mask.clone()),
            timeout: settings.tool_timeout.to_duration(),
            tools,
            mask,
        },
        cards,
        journal,
        history,
        number,
        steps: count(&past.entries, |entry| matches!(entry, Entry::Reply(_))),
        settings,
    })
}

/// What programs that are started get: everything that this one got, but the key.
fn environment(settings: &Settings) -> Vec<(String, String)> {
    let readable = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    readable
        .filter(|(name, _)| settings.key_variable.as_ref() != Some(name))
        .collect()
}

fn room(assignment: &Assignment, environment: Vec<(String, String)>) -> Room {
    let settings = &assignment.settings;
    Room {
        workspace: assignment.workspace.clone(),
        environment,
        external: match settings.external_directory {
            ExternalDirectory::Deny => External::Deny,
            ExternalDirectory::Allow => External::Allow,
        },
        readable: settings.readable.clone(),
        writable: settings.writable.clone(),
        temporary: assignment.temporary.clone(),
        timeout: settings.tool_timeout.to_duration(),
        bash_timeout: settings.bash_timeout.to_duration(),
    }
}

fn provider(
    assignment: &Assignment,
    number: u32,
    key: Option<String>,
    mask: &Arc<Mask>,
) -> Result<Box<dyn Provider>> {
    let settings = &assignment.settings;
    let iteration = assignment.iteration;
    let over = |dialect, base_url: &Option<String>| {
        over_http(
            dialect,
            settings.model.clone(),
            endpoint(settings, base_url, key.clone()),
        )
    };
    let provider: Box<dyn Provider> = match &settings.source {
        Source::Anthropic { base_url } => over(Dialect::Anthropic, base_url)?,
        Source::Openai { base_url } => over(Dialect::OpenAi, base_url)?,
        Source::Cassette { file } => Box::new(Cassette::open(file, iteration, number)?),
        Source::Rehearsal => Box::new(Cassette::rehearsal(iteration, number)?),
    };
    Ok(match &settings.record {
        Some(file) => Box::new(Recorder::new(
            provider,
            file,
            mask.clone(),
            iteration,
            number,
        )?),
        None => provider,
    })
}

fn endpoint(settings: &Settings, base_url: &Option<String>, key: Option<String>) -> Endpoint {
    let say = |notice: Notice| {
        // A supervisor that does not listen any more is noticed at the next step.
        let _ = tell(&Line::Waiting {
            ms: notice.wait_ms.unsigned_abs(),
            why: notice.why.as_str().into(),
            usage: notice.spent,
        });
    };
    let usual = Endpoint::default();
    Endpoint {
        base_url: base_url.clone(),
        key: key.map(Secret::new),
        // A server of one's own may take its time to read a long prompt; a large provider does not.
        first_byte_timeout: match base_url {
            Some(_) => settings.reply_timeout.to_duration(),
            None => usual.first_byte_timeout,
        },
        total_timeout: settings.reply_timeout.to_duration(),
        patience: Patience {
            base_ms: settings.backoff.as_millis(),
            retries: settings.retries,
            max_wait_ms: LONGEST_WAIT.as_millis() as i64,
        },
        notice: Some(Arc::new(say)),
        ..usual
    }
}

fn count(entries: &[Entry], of_kind: impl Fn(&Entry) -> bool) -> u32 {
    u32::try_from(entries.iter().filter(|entry| of_kind(entry)).count()).unwrap_or(u32::MAX)
}

/// Calls that really ran: those that took time.
fn executed(entries: &[Entry]) -> u64 {
    let ran = entries.iter().map(|entry| match entry {
        Entry::Outcome { results, .. } => results
            .iter()
            .filter(|result| result.duration_ms > 0)
            .count() as u64,
        _ => 0,
    });
    ran.sum()
}
