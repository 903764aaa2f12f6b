//! What a conversation is held with: its tools and permit, its provider, what an earlier process of the same turn has left.
//! It must not hold it.

use super::conversation::Conversation;
use super::hooks::Hooks;
use super::journal::{Entry, Journal, Past};
use super::mouth::{self, tell};
use super::settings::{Assignment, Settings, Source, Words};
use super::workbench::Workbench;
use crate::agent::provider::recorded::{Cassette, Recorder};
use crate::agent::provider::{Dialect, Endpoint, Notice, Provider, Secret, over_http};
use crate::agent::stream::ralphd::Line;
use crate::agent::tool::{External, Room, ToolCard, toolbox};
use crate::config::agent::ExternalDirectory;
use crate::model::backoff::Patience;
use crate::model::conversation::compaction::text_tokens;
use crate::model::conversation::doom::Doom;
use crate::model::conversation::permit::Permit;
use crate::model::mask::Mask;
use anyhow::{Context, Result};
use std::sync::Arc;
use std::time::Duration;

/// A limit that is lifted within this time is waited out inside the turn; for a longer one the session is parked.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// Everything that a conversation needs, as far as an earlier process of the same turn had come.
pub fn set_up(
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
    let tools = cards.iter().map(|card| card.name).zip(tools).collect();
    let (cards, permit) = permitted(cards, &settings, executed(&past.entries));
    let steps = replies(&past.entries);
    tell(&Line::Begun {
        model: settings.model.as_str().into(),
        steps_before: steps,
    })?;
    let number = mouth::tell_again(&past.entries)?;
    let words = Words::load(settings.prompts.as_deref())?;
    Ok(Conversation {
        fixed_tokens: text_tokens(&words.system) + cards.iter().map(card_tokens).sum::<u64>(),
        reported: past.reported(),
        words,
        provider: provider(&assignment, number, key, &mask)?,
        workbench: Workbench {
            permit,
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
        steps,
        settings,
    })
}

/// The tools that the model is told of, and the permit that holds it to them.
fn permitted(cards: Vec<ToolCard>, settings: &Settings, executed: u64) -> (Vec<ToolCard>, Permit) {
    let names = |cards: &[ToolCard]| cards.iter().map(|card| card.name.to_owned()).collect();
    let known = names(&cards);
    let listed = settings.tools.as_ref();
    let is_listed =
        |card: &ToolCard| listed.is_none_or(|listed| listed.iter().any(|name| name == card.name));
    let cards: Vec<ToolCard> = cards.into_iter().filter(is_listed).collect();
    let allowed = names(&cards);
    let max_calls = u64::from(settings.max_tool_calls);
    (cards, Permit::new(known, allowed, max_calls, executed))
}

fn card_tokens(card: &ToolCard) -> u64 {
    text_tokens(card.description) + text_tokens(&card.parameters.to_string())
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

fn replies(entries: &[Entry]) -> u32 {
    let replies = entries
        .iter()
        .filter(|entry| matches!(entry, Entry::Reply(_)));
    u32::try_from(replies.count()).unwrap_or(u32::MAX)
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
