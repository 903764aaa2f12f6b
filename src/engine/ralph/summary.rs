//! Between two iterations: another agent sums up the transcript of the one for the other. It is a help and never a hurdle:
//! whatever goes wrong with it is told in the history, and the next prompt goes without.

use super::Ralph;
use crate::agent::profile::Profile;
use crate::agent::{self, Outcome, TurnEnd};
use crate::clock::{new_id, now_ms};
use crate::engine::prompt::{PreviousIteration, SummarizerPrompt};
use crate::engine::summary_turn;
use crate::engine::work::{Account, words_of};
use crate::files;
use crate::model::iteration::Verdict;
use crate::model::preset::Prompt;
use crate::model::promise;
use crate::model::usage::Usage;
use crate::process::{self, Sighting};
use crate::store::iterations::Iteration;
use crate::store::ledger::{self, Layers};
use crate::store::summaries::{self, Charge, Subject, Summary, SummaryEnd, SummaryState};
use anyhow::{Context, Result};
use std::path::PathBuf;
use tokio::sync::{mpsc, watch};

/// How much of a transcript is read: where it began, and how it ended.
const MAX_HEAD_BYTES: u64 = 64 * 1024;
const MAX_TAIL_BYTES: u64 = 192 * 1024;
/// An agent that takes its prompt as an argument cannot take so much.
const MAX_ARGUMENT_HEAD_BYTES: u64 = 16 * 1024;
const MAX_ARGUMENT_TAIL_BYTES: u64 = 48 * 1024;
/// A longer summary would crowd out the objective.
const MAX_SUMMARY_BYTES: usize = 8 * 1024;

/// The files of one summary, beside those of its iteration.
struct Papers {
    prompt: PathBuf,
    output: PathBuf,
    /// Where the summarizer works: it has no business in the workspace.
    room: PathBuf,
}

impl Ralph {
    /// Has the last iteration summed up, where that is wanted and not done yet. True when time has passed over it: things
    /// may stand differently then.
    pub(super) async fn summarize(&mut self) -> Result<bool> {
        let Some(name) = self.work.house.config.defaults.summarizer.clone() else {
            // An earlier configuration may have wanted one.
            self.end_running_summary().await?;
            return Ok(false);
        };
        let claim = self.work.claim.clone();
        self.summary = self
            .work
            .house
            .store
            .read(move |sql| summaries::last(sql, &claim))
            .await?;
        let Some(subject) = self.to_be_summed_up(name) else {
            return Ok(false);
        };
        let (profile, before) = match self.begun(&subject).await? {
            Ok(begun) => begun,
            Err(reason) => {
                self.end_running_summary().await?;
                let charge = self.reserved(&subject);
                let end = SummaryEnd::NotMade(reason);
                self.end_summary(subject, end, charge, now_ms()).await?;
                return Ok(false);
            }
        };
        let started_at_ms = now_ms();
        let (end, usage) = self.run_summary(&subject, &profile, before).await;
        let charge = Charge { before, usage };
        self.end_summary(subject, end, Some(charge), started_at_ms)
            .await?;
        Ok(true)
    }

    /// What the next prompt says of the run before.
    pub(super) fn previous(&self) -> Option<PreviousIteration> {
        let summary = self.summary.as_ref()?;
        let SummaryState::Made(text) = &summary.state else {
            return None;
        };
        Some(PreviousIteration {
            number: summary.subject.number,
            agent: summary.subject.agent.clone(),
            lines: text.lines().map(str::to_owned).collect(),
        })
    }

    /// Ends a summary that an earlier claimant left running, when the loop stops instead of going on.
    pub(super) async fn end_running_summary(&self) -> Result<()> {
        let Some(last) = self.history.last() else {
            return Ok(());
        };
        let record = self.work.house.turn_record(&summary_turn(&last.id));
        if record.exists() {
            let supervisor = &self.work.house.roster.supervision().supervisor;
            supervisor.end(&record).await?;
        }
        Ok(())
    }

    fn to_be_summed_up(&self, agent: String) -> Option<Subject> {
        let last = self.history.last()?;
        if last.ended_at_ms.is_none() || !is_worth_it(last) || *self.work.signals.stop.borrow() {
            return None;
        }
        let known = self.summary_of(&last.id);
        match known.map(|summary| &summary.state) {
            Some(SummaryState::Made(_) | SummaryState::NotMade) => return None,
            // Whoever began it is waited for, even if another is wanted by now.
            Some(SummaryState::UnderWay { .. }) => return known.map(|known| known.subject.clone()),
            Some(SummaryState::Interrupted) | None => {}
        }
        Some(Subject {
            iteration: last.id.clone(),
            number: last.number,
            agent,
        })
    }

    fn summary_of(&self, iteration: &str) -> Option<&Summary> {
        let newest = self.summary.as_ref();
        newest.filter(|summary| summary.subject.iteration == iteration)
    }

    /// What an earlier claimant held for a summary that nobody makes now, to be given back.
    fn reserved(&self, subject: &Subject) -> Option<Charge> {
        match self.summary_of(&subject.iteration)?.state {
            SummaryState::UnderWay { before } => Some(Charge {
                before,
                usage: Usage::default(),
            }),
            _ => None,
        }
    }

    /// Who sums up, and what the iteration itself has used; or why there is no summary.
    async fn begun(&self, subject: &Subject) -> Result<Result<(Profile, Usage), String>> {
        let profile = match self.work.house.roster.member(&subject.agent) {
            Ok(member) => member.profile.clone(),
            Err(unknown) => return Ok(Err(unknown.to_string())),
        };
        let before = match self
            .summary_of(&subject.iteration)
            .map(|known| &known.state)
        {
            Some(SummaryState::UnderWay { before }) => Ok(*before),
            _ => self.begin_summary(subject, &profile).await?,
        };
        Ok(before.map(|before| (profile, before)))
    }

    /// What the iteration has used so far, once the summary's own cost is held; or why there is none.
    async fn begin_summary(
        &self,
        subject: &Subject,
        profile: &Profile,
    ) -> Result<Result<Usage, String>> {
        let earlier = self.summary.as_ref().and_then(|summary| summary.cost_usd);
        let expected = profile.cost_per_iteration.or(earlier);
        if let Some(reason) = self.why_unaffordable(profile, expected.unwrap_or(0.0)) {
            return Ok(Err(reason));
        }
        // It is no start of an agent's work, and does not take the place of one.
        let layers = Layers {
            starts_per_hour: None,
            ..self.work.layers()
        };
        let (claim, subject) = (self.work.claim.clone(), subject.clone());
        let lease = self.work.house.lease_until_ms();
        self.work
            .house
            .store
            .write(move |sql| {
                let at_ms = now_ms();
                if let Some(refusal) = ledger::refuse(sql, &layers, expected.unwrap_or(0.0), at_ms)?
                {
                    return Ok(Err(words_of(&refusal)));
                }
                summaries::begin(sql, &claim, &subject, expected, lease, at_ms).map(Ok)
            })
            .await
    }

    fn why_unaffordable(&self, profile: &Profile, expected_usd: f64) -> Option<String> {
        let budget = &self.work.mission.budget;
        if budget.usd.is_some() && !profile.knows_its_cost() {
            return Some("it cannot tell its cost, and the session has a limit in USD".to_owned());
        }
        if budget.tokens.is_some() && !profile.reports.tokens {
            return Some(
                "it cannot tell its tokens, and the session has a limit of them".to_owned(),
            );
        }
        // A summary is for the next iteration, and must not take its place.
        let next = self.cost_per_iteration(&self.agent).unwrap_or(0.0);
        let spent = self.work.session.cost_usd + expected_usd + next;
        let over = budget.usd.filter(|usd| spent > *usd);
        over.map(|usd| format!("the budget of {usd:.2} USD leaves no room for it"))
    }

    /// Runs the summarizer, or waits for the one that runs. An error of any kind only means that there is no summary.
    async fn run_summary(
        &self,
        subject: &Subject,
        profile: &Profile,
        before: Usage,
    ) -> (SummaryEnd, Usage) {
        let papers = self.papers(subject.number);
        let outcome = self
            .take_summary_turn(subject, profile, before, &papers)
            .await;
        // What it may have left there is nobody's.
        let _ = std::fs::remove_dir_all(&papers.room);
        match outcome {
            Ok(outcome) => (self.end_of(&outcome), outcome.usage),
            Err(error) => {
                let ended = self.end_running_summary().await;
                let stays = ended.err().map(|error| format!("; {error:#}"));
                let reason = format!("{error:#}{}", stays.unwrap_or_default());
                (SummaryEnd::NotMade(reason), Usage::default())
            }
        }
    }

    async fn take_summary_turn(
        &self,
        subject: &Subject,
        profile: &Profile,
        before: Usage,
        papers: &Papers,
    ) -> Result<Outcome> {
        let id = summary_turn(&subject.iteration);
        let turn_record = self.work.house.turn_record(&id);
        files::make_private_directory(&papers.room)?;
        // A running summarizer may still be reading its prompt.
        if process::look(&turn_record)? == Sighting::NeverStarted {
            let prompt = self.summary_prompt(profile)?;
            std::fs::write(&papers.prompt, prompt)
                .with_context(|| format!("cannot write the prompt {}", papers.prompt.display()))?;
        }
        let account = Account {
            iteration: subject.iteration.clone(),
            before,
            keeps_calls: false,
        };
        let agent = self.work.house.roster.hire(&subject.agent)?;
        let timeout = self.work.house.config.defaults.summarizer_timeout;
        let turn =
            |stop: watch::Receiver<bool>, reports: mpsc::Sender<agent::TurnReport>| agent::Turn {
                id,
                commission: agent::Commission {
                    workspace: papers.room.clone(),
                    ..self.work.commission()
                },
                prompt_file: papers.prompt.clone(),
                output_file: papers.output.clone(),
                turn_record,
                timeout: self.work.time_within(timeout.into()),
                silence: None,
                environment: Vec::new(),
                answer_schema: None,
                stop,
                reports,
            };
        self.work.attend(&*agent, &account, turn).await
    }

    fn summary_prompt(&self, profile: &Profile) -> Result<String> {
        let last = self.history.last().context("there is nothing to sum up")?;
        let (head, tail) = match profile.prompt {
            Prompt::Arg => (MAX_ARGUMENT_HEAD_BYTES, MAX_ARGUMENT_TAIL_BYTES),
            Prompt::Stdin | Prompt::File => (MAX_HEAD_BYTES, MAX_TAIL_BYTES),
        };
        let log = PathBuf::from(&last.output_file);
        let prompt = self.work.house.prompts.summarizer(&SummarizerPrompt {
            objective: self.work.mission.objective.clone(),
            number: last.number,
            verdict: last.verdict.map_or("under way", Verdict::as_str).to_owned(),
            transcript: files::read_ends(&log, head, tail)?,
            // Nobody who wrote any of it could know this line, so nothing in it can end it.
            boundary: new_id(),
        })?;
        Ok(self.work.house.secrets.mask().text(&prompt).into_owned())
    }

    fn end_of(&self, outcome: &Outcome) -> SummaryEnd {
        let text = without_promise(&outcome.final_text, &self.work.mission.promise);
        let asked = *self.work.signals.stop.borrow();
        match (outcome.end, &outcome.failure) {
            (TurnEnd::Stopped | TurnEnd::Overspent, _) if asked => SummaryEnd::Interrupted,
            (TurnEnd::Stopped | TurnEnd::Overspent, _) => {
                SummaryEnd::NotMade("a budget is used up".to_owned())
            }
            (TurnEnd::Lost, _) => SummaryEnd::NotMade("it vanished with its shim".to_owned()),
            (_, Some(failure)) => SummaryEnd::NotMade(failure.detail.clone()),
            (TurnEnd::TimedOut, None) => SummaryEnd::NotMade("it took too long".to_owned()),
            (TurnEnd::DoomLoop, None) => SummaryEnd::NotMade("it repeated itself".to_owned()),
            (TurnEnd::Finished, None) if text.is_empty() => {
                SummaryEnd::NotMade("it said nothing".to_owned())
            }
            (TurnEnd::Finished, None) => SummaryEnd::Made(text),
        }
    }

    async fn end_summary(
        &mut self,
        subject: Subject,
        end: SummaryEnd,
        charge: Option<Charge>,
        started_at_ms: i64,
    ) -> Result<()> {
        if let SummaryEnd::NotMade(reason) = &end {
            tracing::warn!(
                session = self.work.session.id,
                "no summary by {}: {reason}",
                subject.agent
            );
        }
        let turn = summary_turn(&subject.iteration);
        let interrupted = end == SummaryEnd::Interrupted;
        let (claim, lease) = (self.work.claim.clone(), self.work.house.lease_until_ms());
        self.summary = self
            .work
            .house
            .store
            .write(move |sql| {
                let at_ms = now_ms();
                let times = (lease, at_ms - started_at_ms, at_ms);
                summaries::end(sql, &claim, &subject, &end, charge, times)?;
                summaries::last(sql, &claim)
            })
            .await?;
        match interrupted {
            // It is run anew under the same name.
            true => process::forget(&self.work.house.turn_record(&turn))?,
            false => self.recorded_turns.push(turn),
        }
        Ok(())
    }

    fn papers(&self, number: i64) -> Papers {
        let logs = self.work.house.log_directory(&self.work.session.id);
        Papers {
            prompt: logs.join(format!("{number:04}.summary.prompt.md")),
            output: logs.join(format!("{number:04}.summary.log")),
            room: logs.join(format!("{number:04}.summary")),
        }
    }
}

/// A turn in which something was done: one that a limit or an outage refused at once has nothing to tell.
fn is_worth_it(last: &Iteration) -> bool {
    last.counted || last.tool_call_count > 0
}

/// The summary as the next prompt shows it: short, and without the promise, which must come from the agent alone.
fn without_promise(text: &str, promise: &str) -> String {
    let mut end = text.len().min(MAX_SUMMARY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    promise::taken_out(text[..end].trim(), promise)
}
