//! The next turn: a new iteration with its prompt, or the one an earlier claimant left under way.

use super::Ralph;
use super::spend::stop_for;
use crate::agent;
use crate::clock::{new_id, now_ms};
use crate::engine::prompt::{Answered, IterationPrompt};
use crate::files;
use crate::model::handoff;
use crate::model::iteration::Verdict;
use crate::model::stop::Stop;
use crate::store::iterations::{self, Iteration, NewIteration};
use crate::store::ledger;
use crate::store::sessions;
use crate::workspace::letters::{self, Handoff};
use crate::workspace::{self, protect};
use anyhow::{Context, Result};
use serde_json::Value as Json;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// A turn whose budget of time is almost gone still gets this much, so that it can say a last word.
const MIN_TURN: Duration = Duration::from_secs(1);

/// Earlier iterations that a prompt tells of; more would crowd out the objective.
const MAX_FACTS: usize = 50;

/// An iteration that is under way.
pub(super) struct UnderWay {
    pub id: String,
    pub number: i64,
    pub prompt: String,
    pub prompt_file: PathBuf,
    pub output_file: PathBuf,
}

/// What came of the wish to start an iteration.
pub(super) enum Begun {
    Turn(UnderWay),
    /// A limit over all sessions says no.
    Not(Stop),
}

impl UnderWay {
    pub(super) fn for_agent(
        &self,
        ralph: &Ralph,
        stop: watch::Receiver<bool>,
        reports: mpsc::Sender<agent::TurnReport>,
    ) -> agent::Turn {
        agent::Turn {
            id: self.id.clone(),
            commission: ralph.commission(),
            prompt_file: self.prompt_file.clone(),
            output_file: self.output_file.clone(),
            turn_record: ralph.house.turn_record(&self.id),
            timeout: ralph.time_for_a_turn(),
            silence: ralph.mission.silence_timeout,
            environment: ralph.mission.environment.clone(),
            answer_schema: None,
            stop,
            reports,
        }
    }
}

impl Ralph {
    pub(super) async fn next_turn(&mut self) -> Result<Begun> {
        match self.unfinished() {
            Some(left) => take_over(left).map(Begun::Turn),
            None => self.new_turn().await,
        }
    }

    async fn new_turn(&mut self) -> Result<Begun> {
        // The agent before may have removed its own floor.
        workspace::prepare(&self.workspace)?;
        self.remember_protected().await?;
        letters::clear_question(&self.workspace);
        let prompt = self.house.prompts.iteration(&self.prompt_values()?)?;
        let prompt = self.house.secrets.mask().text(&prompt).into_owned();
        let number = self.history.last().map_or(1, |last| last.number + 1);
        let logs = self.house.log_directory(&self.session.id);
        files::make_private_directory(&logs)?;
        let turn = UnderWay {
            id: new_id(),
            number,
            prompt_file: logs.join(format!("{number:04}.prompt.md")),
            output_file: logs.join(format!("{number:04}.log")),
            prompt,
        };
        std::fs::write(&turn.prompt_file, &turn.prompt)
            .with_context(|| format!("cannot write the prompt {}", turn.prompt_file.display()))?;
        let new = NewIteration {
            id: turn.id.clone(),
            number,
            agent: self.agent.clone(),
            prompt_file: turn.prompt_file.to_string_lossy().into_owned(),
            output_file: turn.output_file.to_string_lossy().into_owned(),
            guidance_ids: self.unread_guidance().map(|word| word.id.clone()).collect(),
            reserve_usd: self.expected_cost(),
            started_at_ms: now_ms(),
        };
        let (claim, lease) = (self.claim.clone(), self.house.lease_until_ms());
        let layers = self.layers();
        let refusal = self
            .house
            .store
            .write_for_watchers(move |sql| {
                let reserve_usd = new.reserve_usd.unwrap_or(0.0);
                let refusal = ledger::refuse(sql, &layers, reserve_usd, new.started_at_ms)?;
                if refusal.is_none() {
                    iterations::begin(sql, &claim, &new, lease)?;
                }
                Ok(refusal)
            })
            .await?;
        Ok(refusal.map_or(Begun::Turn(turn), |refusal| Begun::Not(stop_for(refusal))))
    }

    /// For whom the programs of this session work.
    pub(super) fn commission(&self) -> agent::Commission {
        agent::Commission {
            session_id: self.session.id.clone(),
            task_id: self.claim.task_id.clone(),
            iteration: self.session.iteration_count + 1,
            workspace: self.workspace.clone(),
        }
    }

    /// The time limit of a turn: its own, or what is left of the session's.
    pub(super) fn time_for_a_turn(&self) -> Duration {
        self.time_within(self.mission.iteration_timeout)
    }

    /// A time limit, cut to what is left of the session's.
    pub(super) fn time_within(&self, own: Duration) -> Duration {
        let Some(wall) = self.mission.budget.wall else {
            return own;
        };
        let left_ms = wall.as_millis() - self.active_ms(now_ms());
        own.min(Duration::from_millis(u64::try_from(left_ms).unwrap_or(0)).max(MIN_TURN))
    }

    /// Before the agent's first turn the protected files are as the user gave them.
    async fn remember_protected(&mut self) -> Result<()> {
        if self.mission.protect.is_empty() || self.session.protected.is_some() {
            return Ok(());
        }
        let hashes = protect::snapshot(&self.workspace, &self.mission.protect)?;
        let (id, stored) = (self.session.id.clone(), hashes.clone());
        self.house
            .store
            .write(move |sql| sessions::set_protected(sql, &id, &stored))
            .await?;
        self.session.protected = Some(hashes);
        Ok(())
    }

    fn prompt_values(&self) -> Result<IterationPrompt> {
        let (resumed, problem) = self.resumed_state();
        let last = self.history.last();
        let refuted = last.filter(|last| {
            last.verdict == Some(Verdict::Promised) && last.verify_passed == Some(false)
        });
        let answers = self.answers.iter().filter_map(|asked| {
            let answer = asked.answer.clone()?;
            Some(Answered {
                question: asked.question.clone(),
                answer,
            })
        });
        Ok(IterationPrompt {
            objective: self.mission.objective.clone(),
            continuing: last.is_some()
                || self.session.follows_session_id.is_some()
                || resumed.is_some(),
            handoff: resumed.as_ref().map(handoff::as_lines).unwrap_or_default(),
            handoff_problem: problem,
            previous: self.previous(),
            answers: answers.collect(),
            guidance: self.guidance.iter().map(|word| word.text.clone()).collect(),
            verify: self.mission.verify.clone(),
            verify_failure: refuted.and_then(|last| last.verify_tail.clone()),
            facts: self.facts(),
            iteration: self.session.iteration_count + 1,
            max_iterations: self.session.max_iterations,
            workspace: self.workspace.to_string_lossy().into_owned(),
            promise: self.mission.promise.clone(),
        })
    }

    /// The handoff to resume from: what the workspace holds, else the last good one; and what was wrong with the file.
    fn resumed_state(&self) -> (Option<Json>, Option<String>) {
        let last_good = || {
            self.history
                .iter()
                .rev()
                .find_map(|iteration| iteration.handoff.clone())
        };
        match letters::read_handoff(&self.workspace) {
            Handoff::Good(handoff) => (Some(handoff), None),
            Handoff::Broken(problem) => (last_good(), Some(problem)),
            Handoff::None => (last_good(), None),
        }
    }

    /// What the daemon itself has seen: one line for each earlier iteration, then the limits.
    fn facts(&self) -> Vec<String> {
        if self.history.is_empty() {
            return Vec::new();
        }
        let earlier = self.history.len().saturating_sub(MAX_FACTS);
        let mut facts: Vec<String> = self.history[earlier..].iter().map(fact_of).collect();
        if earlier > 0 {
            facts.insert(0, format!("{earlier} runs before these are not listed"));
        }
        if let Some(wall) = self.mission.budget.wall {
            let left_s = (wall.as_millis() - self.active_ms(now_ms())).max(0) / 1000;
            facts.push(format!("time left: {left_s} s of {wall}"));
        }
        if let Some(usd) = self.mission.budget.usd {
            let spent = self.session.cost_usd;
            facts.push(format!("spent: {spent:.2} of {usd:.2} USD"));
            if spent >= usd * 2.0 / 3.0 {
                facts.push("two thirds of the budget are used: do what matters most, and leave a good handoff".to_owned());
            }
        }
        facts
    }
}

fn fact_of(iteration: &Iteration) -> String {
    const MAX_SAID_CHARS: usize = 120;
    let seconds = iteration
        .ended_at_ms
        .map_or(0, |ended| (ended - iteration.started_at_ms) / 1000);
    let verdict = iteration.verdict.map_or("under way", Verdict::as_str);
    let mut fact = format!("run {}: {verdict} after {seconds} s", iteration.number);
    match iteration.verify_passed {
        Some(true) => fact.push_str(", verification passed"),
        Some(false) => fact.push_str(", verification failed"),
        None => {}
    }
    if iteration.progressed == Some(false) {
        fact.push_str(", nothing changed");
    }
    let said = iteration
        .failure_detail
        .as_deref()
        .or(iteration.final_text.as_deref())
        .unwrap_or_default();
    if let Some(line) = said.lines().map(str::trim).rfind(|line| !line.is_empty()) {
        let short: String = line.chars().take(MAX_SAID_CHARS).collect();
        fact.push_str(&format!("; last words: {short}"));
    }
    fact
}

fn take_over(left: &Iteration) -> Result<UnderWay> {
    let prompt_file = PathBuf::from(&left.prompt_file);
    let prompt = std::fs::read(&prompt_file).with_context(|| {
        format!(
            "the prompt {} of a running turn is gone",
            prompt_file.display()
        )
    })?;
    Ok(UnderWay {
        id: left.id.clone(),
        number: left.number,
        prompt: String::from_utf8_lossy(&prompt).into_owned(),
        prompt_file,
        output_file: PathBuf::from(&left.output_file),
    })
}
