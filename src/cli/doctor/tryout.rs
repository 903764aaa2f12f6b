//! A real turn for each agent: one word is asked for, in an empty directory, under the same supervision as all work.
//! It costs a few tokens, so it is done only when asked for; nothing of it is kept.

use super::super::agents::Versions;
use super::super::output;
use super::super::scratch::Scratch;
use super::agents::way_in;
use super::{Check, Level, check};
use crate::agent::roster::{Member, Roster};
use crate::agent::{self, Outcome, TurnEnd};
use crate::clock::{new_id, now_ms};
use crate::files;
use crate::model::failure::{Failure, FailureClass};
use crate::model::preset::Preset;
use anyhow::{Context, Result};
use std::path::Path;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

const WORD: &str = "READY";
const PROMPT: &str = "Answer with the single word READY. Do nothing else, and use no tools.\n";
/// Some tools retry an outage for about a minute before they say so.
const DEADLINE: Duration = Duration::from_secs(120);
const MAX_SAID_CHARS: usize = 200;

/// Tries all agents that start at all, at once. An interrupt ends them: a turn would outlive this process.
pub(super) async fn all(roster: &Roster, versions: &Versions, quiet: bool) -> Result<Vec<Check>> {
    let starts = |member: &&Member| {
        let missing = versions
            .get(&member.name)
            .and_then(|said| said.as_ref().err());
        let played = member.profile.builtin.as_ref();
        let played = played.is_some_and(|settings| settings.source.is_recorded());
        !played && !missing.is_some_and(|none| none.missing)
    };
    let tried: Vec<&Member> = roster.members().filter(starts).collect();
    if !quiet && !tried.is_empty() {
        let names: Vec<&str> = tried.iter().map(|member| member.name.as_str()).collect();
        eprintln!(
            "ralphd: asking {} for one word each, for up to {} s; this costs a few tokens",
            names.join(", "),
            DEADLINE.as_secs()
        );
    }
    let place = Scratch::make("doctor")?;
    let stop = interrupted()?;
    let mut running = JoinSet::new();
    for member in tried {
        let agent = roster.hire(&member.name)?;
        let (turn, member) = (
            turn(place.path(), &member.name, stop.clone())?,
            member.clone(),
        );
        running.spawn(async move {
            let started_at_ms = now_ms();
            let outcome = agent.run(turn).await;
            let took_ms = now_ms() - started_at_ms;
            let (level, detail) = match &outcome {
                Ok(outcome) => judged(&member, outcome, took_ms),
                Err(error) => (Level::Fail, format!("{error:#}")),
            };
            (member.name, level, detail)
        });
    }
    let mut answers = running.join_all().await;
    answers.sort_by(|one, other| one.0.cmp(&other.0));
    let as_check = |(name, level, detail): (String, Level, String)| {
        check(&format!("try {name}"), level, detail)
    };
    Ok(answers.into_iter().map(as_check).collect())
}

/// Turns true at an interrupt.
fn interrupted() -> Result<watch::Receiver<bool>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stop.send_replace(true);
        // The sender has to live as long as anybody may ask.
        stop.closed().await;
    });
    Ok(stopped)
}

fn turn(place: &Path, name: &str, stop: watch::Receiver<bool>) -> Result<agent::Turn> {
    let own = place.join(name);
    let workspace = own.join("workspace");
    files::make_private_directory(&workspace)?;
    let prompt_file = own.join("prompt.md");
    std::fs::write(&prompt_file, PROMPT).context("cannot write the prompt")?;
    let id = new_id();
    Ok(agent::Turn {
        commission: agent::Commission {
            session_id: "doctor".to_owned(),
            task_id: "doctor".to_owned(),
            iteration: 1,
            workspace,
        },
        prompt_file,
        output_file: own.join("output.log"),
        turn_record: own.join("turns").join(&id),
        id,
        timeout: DEADLINE,
        silence: None,
        environment: Vec::new(),
        answer_schema: None,
        stop,
        // Nobody has to watch what one word costs.
        reports: mpsc::channel(1).0,
    })
}

/// What the try says of the agent.
fn judged(member: &Member, outcome: &Outcome, took_ms: i64) -> (Level, String) {
    if outcome.end == TurnEnd::Stopped {
        return (Level::Warn, "interrupted".to_owned());
    }
    if let Some(failure) = &outcome.failure {
        return failed(member, failure);
    }
    let said = output::first_line(&outcome.final_text);
    let used = format!("in {}{}", output::duration(took_ms), used(outcome));
    match said.as_str() {
        _ if outcome.final_text.contains(WORD) => (Level::Ok, format!("answered {used}")),
        "" => (Level::Fail, format!("said nothing, {used}")),
        _ => {
            let said = output::cut(&said, MAX_SAID_CHARS);
            (
                Level::Warn,
                format!("answered {used}, but not with {WORD}: {said}"),
            )
        }
    }
}

fn used(outcome: &Outcome) -> String {
    let usage = &outcome.usage;
    let tokens = match (usage.input_tokens, usage.output_tokens) {
        (None, None) => String::new(),
        (input, output) => format!(", {} tokens", input.unwrap_or(0) + output.unwrap_or(0)),
    };
    let cost = usage.cost_usd.map(|usd| format!(", {usd:.4} USD"));
    format!("{tokens}{}", cost.unwrap_or_default())
}

fn failed(member: &Member, failure: &Failure) -> (Level, String) {
    use FailureClass::{Auth, Configuration, Overloaded, RateLimit, UsageLimit};
    // The line begins with the agent's name already.
    let named = failure
        .detail
        .strip_prefix(&format!("agent '{}'", member.name));
    let words = named.map_or(failure.detail.as_str(), |words| {
        let words = words.strip_prefix(" failed").unwrap_or(words);
        words.trim_start_matches([':', ' '])
    });
    let class = failure.class.as_str().replace('_', " ");
    let mut detail = format!("{class}: {}", words.trim_end_matches('.'));
    if let Some(until) = failure.reset_at_ms {
        detail.push_str(&format!("; until {}", output::local_time(until)));
    }
    let preset = member.preset.and_then(Preset::named);
    match (failure.class, preset) {
        (Auth, Some(preset)) => detail.push_str(&format!("; {}", way_in(preset))),
        (Auth, None) => detail.push_str("; check its key or login"),
        (Configuration, Some(preset)) if !preset.setup.is_empty() => {
            detail.push_str(&format!("; it needs {}", preset.setup));
        }
        _ => {}
    }
    // These pass by themselves: the agent is in place.
    let passing = matches!(failure.class, RateLimit | UsageLimit | Overloaded);
    (if passing { Level::Warn } else { Level::Fail }, detail)
}
