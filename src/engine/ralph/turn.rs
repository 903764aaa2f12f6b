//! The next turn: a new iteration with its prompt, or the one an earlier claimant left under way.

use super::Ralph;
use crate::agent;
use crate::clock::{new_id, now_ms};
use crate::engine::prompt::{Answered, IterationPrompt};
use crate::engine::work::stop_for;
use crate::files;
use crate::model::budget::is_two_thirds_used;
use crate::model::delegation::Spawn;
use crate::model::handoff;
use crate::model::iteration::Verdict;
use crate::model::stop::Stop;
use crate::process::{self, Sighting};
use crate::store::iterations::{self, Iteration, NewIteration};
use crate::store::ledger;
use crate::workspace;
use crate::workspace::git;
use crate::workspace::letters::{self, Handoff};
use anyhow::{Context, Result};
use serde_json::Value as Json;
use std::io::ErrorKind;
use std::path::PathBuf;
use tokio::sync::{mpsc, watch};

/// Earlier iterations that a prompt tells of; more would crowd out the objective.
const MAX_FACTS: usize = 50;

/// An iteration that is under way.
pub(super) struct UnderWay {
    pub id: String,
    pub number: i64,
    pub prompt: String,
    pub prompt_file: PathBuf,
    pub output_file: PathBuf,
    pub started_at_ms: i64,
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
            commission: ralph.work.commission(),
            prompt_file: self.prompt_file.clone(),
            output_file: self.output_file.clone(),
            turn_record: ralph.work.house.turn_record(&self.id),
            timeout: ralph.work.time_within(ralph.work.mission.iteration_timeout),
            silence: ralph.work.mission.silence_timeout,
            environment: ralph.work.mission.environment.clone(),
            answer_schema: None,
            stop,
            reports,
        }
    }
}

impl Ralph {
    pub(super) async fn next_turn(&mut self) -> Result<Begun> {
        if let Some(left) = self.unfinished() {
            if let Some(turn) = self.take_over(left)? {
                return Ok(Begun::Turn(turn));
            }
            // The power went before its prompt was on the disk, and before it began.
            Box::pin(self.work.give_up_unbegun(&left.id)).await?;
            self.look().await?;
        }
        self.new_turn().await
    }

    /// The turn that an earlier claimant left; nothing where it never began, and never can.
    fn take_over(&self, left: &Iteration) -> Result<Option<UnderWay>> {
        let prompt_file = PathBuf::from(&left.prompt_file);
        let prompt = match std::fs::read(&prompt_file) {
            Ok(prompt) => prompt,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let record = self.work.house.turn_record(&left.id);
                if process::look(&record)? == Sighting::NeverStarted {
                    return Ok(None);
                }
                // It is only wanted to know an echo of it.
                Vec::new()
            }
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot read the prompt {}", prompt_file.display()));
            }
        };
        Ok(Some(UnderWay {
            id: left.id.clone(),
            number: left.number,
            prompt: String::from_utf8_lossy(&prompt).into_owned(),
            prompt_file,
            output_file: PathBuf::from(&left.output_file),
            started_at_ms: left.started_at_ms,
        }))
    }

    async fn new_turn(&mut self) -> Result<Begun> {
        // The agent before may have removed its own floor.
        workspace::prepare(&self.work.workspace)?;
        self.work.remember_protected().await?;
        letters::clear_requests(&self.work.workspace);
        self.put_own_handoff()?;
        let prompt = self.work.house.prompts.iteration(&self.prompt_values()?)?;
        let prompt = self.work.house.secrets.mask().text(&prompt).into_owned();
        let number = self.last_number + 1;
        let logs = self.work.house.log_directory(&self.work.session.id);
        files::make_private_directory(&logs)?;
        // Beside it, other tasks of a plan have logs of their own.
        let stem = match &self.work.step {
            Some(step) => format!("T{:03}.{number:04}", step.order),
            None => format!("{number:04}"),
        };
        let mut turn = UnderWay {
            id: new_id(),
            number,
            prompt_file: logs.join(format!("{stem}.prompt.md")),
            output_file: logs.join(format!("{stem}.log")),
            prompt,
            started_at_ms: now_ms(),
        };
        std::fs::write(&turn.prompt_file, &turn.prompt)
            .with_context(|| format!("cannot write the prompt {}", turn.prompt_file.display()))?;
        let new = NewIteration {
            id: turn.id.clone(),
            agent: self.agent.clone(),
            prompt_file: turn.prompt_file.to_string_lossy().into_owned(),
            output_file: turn.output_file.to_string_lossy().into_owned(),
            guidance_ids: self.unread_guidance().map(|word| word.id.clone()).collect(),
            reserve_usd: self.expected_cost(),
            start: self.work.start.clone(),
            started_at_ms: turn.started_at_ms,
        };
        let (claim, lease) = (self.work.claim.clone(), self.work.house.lease_until_ms());
        let layers = self.work.layers();
        let begun = self
            .work
            .house
            .store
            .write_for_watchers(move |sql| {
                let reserve_usd = new.reserve_usd.unwrap_or(0.0);
                match ledger::refuse(sql, &layers, reserve_usd, new.started_at_ms)? {
                    Some(refusal) => Ok(Err(refusal)),
                    None => iterations::begin(sql, &claim, &new, lease).map(Ok),
                }
            })
            .await?;
        Ok(match begun {
            Ok(number) => {
                turn.number = number;
                Begun::Turn(turn)
            }
            Err(refusal) => Begun::Not(stop_for(refusal)),
        })
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
            objective: self.work.mission.objective.clone(),
            step: self.orders.as_ref().map(|orders| orders.prompt.clone()),
            continuing: last.is_some()
                || self.work.session.follows_session_id.is_some()
                || resumed.is_some(),
            handoff: resumed.as_ref().map(handoff::as_lines).unwrap_or_default(),
            handoff_problem: problem,
            previous: self.previous(),
            answers: answers.collect(),
            sub_agent: self.sub_agent_report(),
            spawn_problem: self.spawn_problem(),
            sub_agents: self.sub_agents(),
            guidance: self.guidance.iter().map(|word| word.text.clone()).collect(),
            // A plan is verified as a whole.
            verify: match &self.orders {
                Some(_) => None,
                None => self.work.mission.verify.clone(),
            },
            verify_failure: refuted.and_then(|last| last.verify_tail.clone()),
            facts: self.facts(),
            iteration: self.work.session.iteration_count + 1,
            max_iterations: self.work.session.max_iterations,
            workspace: self.work.workspace.to_string_lossy().into_owned(),
            promise: self.work.mission.promise.clone(),
        })
    }

    /// Whether others have worked in the workspace since the last turn, or may have.
    fn shares_workspace(&self) -> bool {
        let gave_away = |iteration: &Iteration| iteration.spawn.is_some();
        self.work.has_company() || self.history.iter().any(gave_away)
    }

    /// What lies there may be another task's, or a sub-agent's; their snapshots stay in the rows, as this task's own do.
    fn put_own_handoff(&self) -> Result<()> {
        if !self.shares_workspace() {
            return Ok(());
        }
        match self.last_good_handoff() {
            Some(handoff) => letters::put_handoff(&self.work.workspace, &handoff),
            None => {
                letters::clear_handoff(&self.work.workspace);
                Ok(())
            }
        }
    }

    fn last_good_handoff(&self) -> Option<Json> {
        let mut newest_first = self.history.iter().rev();
        newest_first.find_map(|iteration| iteration.handoff.clone())
    }

    /// The handoff to resume from: what the workspace holds, else the last good one; and what was wrong with the file.
    fn resumed_state(&self) -> (Option<Json>, Option<String>) {
        if self.shares_workspace() {
            let last = self.history.last();
            let problem = last.and_then(|last| last.handoff_problem.clone());
            return (self.last_good_handoff(), problem);
        }
        match letters::read_handoff(&self.work.workspace) {
            Handoff::Good(handoff) => (Some(handoff), None),
            Handoff::Broken(problem) => (self.last_good_handoff(), Some(problem)),
            Handoff::None => (self.last_good_handoff(), None),
        }
    }

    /// What the daemon itself has seen: one line for each earlier iteration, then the limits.
    fn facts(&self) -> Vec<String> {
        let mut facts = self.ground_facts();
        if self.history.is_empty() {
            return facts;
        }
        let earlier = self.history.len().saturating_sub(MAX_FACTS);
        if earlier > 0 {
            facts.push(format!("{earlier} runs before these are not listed"));
        }
        facts.extend(self.history[earlier..].iter().map(fact_of));
        if let Some(wall) = self.work.mission.budget.wall {
            let left_s = (wall.as_millis() - self.work.active_ms(now_ms())).max(0) / 1000;
            facts.push(format!("time left: {left_s} s of {wall}"));
        }
        if let Some(usd) = self.work.mission.budget.usd {
            let spent = self.work.session.cost_usd;
            facts.push(format!("spent: {spent:.2} of {usd:.2} USD"));
            if is_two_thirds_used(spent, usd) {
                facts.push("two thirds of the budget are used: do what matters most, and leave a good handoff".to_owned());
            }
        }
        facts
    }
}

impl Ralph {
    /// What is known of the workspace: where it stands, and what the run before did to it.
    fn ground_facts(&self) -> Vec<String> {
        let Some(point) = &self.point else {
            return Vec::new();
        };
        let mut facts = Vec::new();
        if let Some(branch) = &point.branch {
            let commit: String = point.commit_id.chars().take(10).collect();
            facts.push(format!("git: on branch {branch} at {commit}"));
        }
        let since: git::Facts = serde_json::from_value(point.facts.clone()).unwrap_or_default();
        facts.extend(
            since
                .lines()
                .iter()
                .map(|line| format!("the run before: {line}")),
        );
        facts.extend(point.remarks.iter().cloned());
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
    if let Some(Spawn::Errand(errand)) = &iteration.spawn {
        fact.push_str(&format!(", left work for {}", errand.agent));
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
