//! One question to an agent in a role: planner, analyst, validator and their kin. A turn like any other: supervised, charged, a row of
//! its own, found again after a crash. It must not know what the answer is for; whoever asks says whether it can be used.

use super::setback::Trouble;
use super::spend::{Account, stop_for};
use super::unheard::{refused, said, silence};
use super::{Work, leftover};
use crate::agent::{self, Outcome};
use crate::clock::{new_id, now_ms};
use crate::files;
use crate::model::failure::{Failure, FailureClass};
use crate::model::iteration::Verdict;
use crate::model::policy::ErrorClass;
use crate::model::role::Role;
use crate::model::session::EndReason;
use crate::model::stop::Stop;
use crate::model::usage::Usage;
use crate::store::iterations::{self, EndedIteration, Iteration, NewIteration};
use crate::store::tasks::Parking;
use crate::store::{ledger, sessions};
use anyhow::{Context, Result};
use serde_json::Value as Json;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tokio::sync::{mpsc, watch};

/// How often an answer that cannot be used is sent back with what is wrong with it.
const MAX_CORRECTIONS: usize = 2;
/// What of an answer is kept in its row.
const MAX_STORED_TEXT_BYTES: usize = 64 * 1024;

/// What is asked, of whom, and what makes an answer.
pub struct Question<'a, T> {
    pub role: Role,
    /// Only the planner looks around in the workspace.
    pub in_workspace: bool,
    pub schema: Option<Json>,
    /// The prompt, given what was wrong with the answer before.
    pub prompt: &'a (dyn Fn(Option<&str>) -> Result<String> + Sync),
    /// The answer in the final words, or what is wrong with them.
    pub read: &'a (dyn Fn(&str) -> Result<T, String> + Sync),
}

/// What came of a question.
pub enum Consulted<T> {
    Answer(T),
    /// Not now: a limit of the agent, or a failure that may pass.
    Later(Parking),
    /// Ended on purpose from outside.
    Stopped,
    /// A budget of the session, the day or the month is used up.
    Spent(EndReason, String),
    /// The agent cannot, or its answers cannot be used.
    Failed(Trouble),
}

impl<T> Consulted<T> {
    /// The same with another answer.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Consulted<U> {
        match self {
            Consulted::Answer(answer) => Consulted::Answer(change(answer)),
            Consulted::Later(parking) => Consulted::Later(parking),
            Consulted::Stopped => Consulted::Stopped,
            Consulted::Spent(reason, detail) => Consulted::Spent(reason, detail),
            Consulted::Failed(trouble) => Consulted::Failed(trouble),
        }
    }
}

/// A question that is being answered.
struct Turn {
    id: String,
    number: i64,
    agent: String,
    prompt_file: PathBuf,
    output_file: PathBuf,
    room: PathBuf,
}

impl Work {
    /// Asks, and sends an answer back that cannot be used. The session is as of the answer then.
    pub async fn consult<T>(&mut self, question: &Question<'_, T>) -> Result<Consulted<T>> {
        let mut problem: Option<String> = None;
        for _ in 0..=MAX_CORRECTIONS {
            if let Some((reason, detail)) = self.used_up().or_else(|| self.too_dear(question.role))
            {
                return Ok(Consulted::Spent(reason, detail));
            }
            let history = self.past_turns().await?;
            let turn = match self
                .turn_for(question, &history, problem.as_deref())
                .await?
            {
                Ok(turn) => turn,
                Err(stop) => return Ok(refused(stop)),
            };
            let outcome = self
                .take(&turn, question.in_workspace, question.schema.clone())
                .await?;
            match self
                .hear(question.role, question.read, &turn, outcome, &history)
                .await?
            {
                Ok(consulted) => return Ok(consulted),
                Err(wrong) => problem = Some(wrong),
            }
        }
        let role = question.role;
        let message = format!(
            "the {role}'s answers could not be used: {}",
            problem.unwrap_or_default()
        );
        Ok(Consulted::Failed(Trouble::new(ErrorClass::Format, message)))
    }

    /// What came of a turn, or what is wrong with its answer.
    async fn hear<T>(
        &mut self,
        role: Role,
        read: &(dyn Fn(&str) -> Result<T, String> + Sync),
        turn: &Turn,
        outcome: Outcome,
        history: &[Iteration],
    ) -> Result<Result<Consulted<T>, String>> {
        if let Err(verdict) = said(&outcome) {
            let end = outcome.end;
            // In the row as well: by it the next daemon knows how often that was so.
            let failure = match verdict {
                Verdict::Cancelled => None,
                _ => Some(outcome.failure.clone().unwrap_or_else(|| silence(end))),
            };
            self.record(turn, outcome, verdict, failure.clone()).await?;
            let history: Vec<&Iteration> = history
                .iter()
                .filter(|past| is_turn_of(past, role))
                .collect();
            return Ok(Ok(self.without_words(verdict, end, failure, &history)));
        }
        match read(&outcome.final_text) {
            Ok(answer) => {
                self.record(turn, outcome, Verdict::Promised, None).await?;
                Ok(Ok(Consulted::Answer(answer)))
            }
            Err(wrong) => {
                let failure = Failure {
                    class: FailureClass::Other,
                    detail: wrong.clone(),
                    reset_at_ms: None,
                };
                self.record(turn, outcome, Verdict::Unfinished, Some(failure))
                    .await?;
                Ok(Err(wrong))
            }
        }
    }

    /// Sees a turn of the role through at which an earlier claimant left it in the workspace, whatever it says; nothing where there is none.
    pub async fn see_through(&mut self, role: Role) -> Result<Option<Consulted<()>>> {
        let history = self.past_turns().await?;
        let Some(left) = left_in(&history).filter(|left| is_turn_of(left, role)) else {
            return Ok(None);
        };
        let turn = turn_of(left, self.role_agent(role));
        let outcome = self.take(&turn, true, None).await?;
        let any = |_: &str| Ok(());
        let heard = self.hear(role, &any, &turn, outcome, &history).await?;
        Ok(heard.ok())
    }

    async fn past_turns(&self) -> Result<Vec<Iteration>> {
        let claim = self.claim.clone();
        self.house
            .store
            .read(move |sql| iterations::history(sql, &claim, 0))
            .await
    }

    /// The turn that an earlier claimant left under way, or a new one; or why none may start.
    async fn turn_for<T>(
        &self,
        question: &Question<'_, T>,
        history: &[Iteration],
        problem: Option<&str>,
    ) -> Result<Result<Turn, Stop>> {
        if let Some(left) = left_in(history) {
            if is_turn_of(left, question.role) {
                return Ok(Ok(turn_of(left, self.role_agent(question.role))));
            }
            Box::pin(leftover::end_turn(
                &self.house,
                &self.claim,
                &left.id,
                Verdict::Cancelled,
            ))
            .await?;
        }
        let prompt = (question.prompt)(problem)?;
        let prompt = self.house.secrets.mask().text(&prompt).into_owned();
        let logs = self.house.log_directory(&self.session.id);
        files::make_private_directory(&logs)?;
        let (order, count) = (self.task.task_order, history.len() + 1);
        let stem = format!("T{order:03}{}{count:02}", mark_of(question.role));
        let mut turn = Turn {
            id: new_id(),
            number: 0,
            agent: self.role_agent(question.role).to_owned(),
            prompt_file: logs.join(format!("{stem}.prompt.md")),
            output_file: logs.join(format!("{stem}.log")),
            room: logs.join(format!("{stem}.room")),
        };
        std::fs::write(&turn.prompt_file, &prompt)
            .with_context(|| format!("cannot write the prompt {}", turn.prompt_file.display()))?;
        Ok(self.begin_turn(&turn).await?.map(|number| {
            turn.number = number;
            turn
        }))
    }

    fn role_agent(&self, role: Role) -> &str {
        self.house.roster.of_role(role, &self.session.agent)
    }

    /// A turn that is known to cost more than what is left is not begun.
    fn too_dear(&self, role: Role) -> Option<(EndReason, String)> {
        let member = self.house.roster.member(self.role_agent(role)).ok()?;
        let cost = member.profile.cost_per_iteration?;
        let limit = self.mission.budget.usd?;
        let reason = EndReason::BudgetUsd;
        (self.session.cost_usd + cost > limit).then(|| (reason, self.limit_in_words(reason)))
    }

    async fn begin_turn(&self, turn: &Turn) -> Result<Result<i64, Stop>> {
        let profile = &self.house.roster.member(&turn.agent)?.profile;
        let new = NewIteration {
            id: turn.id.clone(),
            agent: turn.agent.clone(),
            prompt_file: turn.prompt_file.to_string_lossy().into_owned(),
            output_file: turn.output_file.to_string_lossy().into_owned(),
            guidance_ids: Vec::new(),
            reserve_usd: profile.cost_per_iteration,
            start: None,
            started_at_ms: now_ms(),
        };
        let (claim, lease, layers) = (
            self.claim.clone(),
            self.house.lease_until_ms(),
            self.layers(),
        );
        self.house
            .store
            .write_for_watchers(move |sql| {
                let reserve_usd = new.reserve_usd.unwrap_or(0.0);
                match ledger::refuse(sql, &layers, reserve_usd, new.started_at_ms)? {
                    Some(refusal) => Ok(Err(stop_for(refusal))),
                    None => iterations::begin(sql, &claim, &new, lease).map(Ok),
                }
            })
            .await
    }

    async fn take(
        &self,
        turn: &Turn,
        in_workspace: bool,
        answer_schema: Option<Json>,
    ) -> Result<Outcome> {
        let agent = self.house.roster.hire(&turn.agent)?;
        let account = Account {
            iteration: turn.id.clone(),
            before: Usage::default(),
            keeps_calls: true,
        };
        let workspace = match in_workspace {
            true => self.workspace.clone(),
            false => turn.room.clone(),
        };
        if !in_workspace {
            files::make_private_directory(&turn.room)?;
        }
        let timeout = self.time_within(self.house.config.roles.timeout.into());
        let outcome = self
            .attend(
                &*agent,
                &account,
                |stop: watch::Receiver<bool>, reports: mpsc::Sender<agent::TurnReport>| {
                    agent::Turn {
                        id: turn.id.clone(),
                        commission: agent::Commission {
                            workspace,
                            ..self.commission()
                        },
                        prompt_file: turn.prompt_file.clone(),
                        output_file: turn.output_file.clone(),
                        turn_record: self.house.turn_record(&turn.id),
                        timeout,
                        silence: self.mission.silence_timeout,
                        environment: self.mission.environment.clone(),
                        answer_schema,
                        stop,
                        reports,
                    }
                },
            )
            .await?;
        // What it may have left there is nobody's.
        let _ = std::fs::remove_dir_all(&turn.room);
        Ok(outcome)
    }

    async fn record(
        &mut self,
        turn: &Turn,
        outcome: Outcome,
        verdict: Verdict,
        failure: Option<Failure>,
    ) -> Result<()> {
        let ended = EndedIteration {
            id: turn.id.clone(),
            number: turn.number,
            verdict,
            // Only the work itself is counted against the limit of iterations.
            counted: false,
            exit_code: outcome.exit_code,
            exit_signal: outcome.exit_signal,
            failure,
            final_text: Some(files::tail_of(&outcome.final_text, MAX_STORED_TEXT_BYTES).to_owned())
                .filter(|text| !text.is_empty()),
            handoff: None,
            handoff_problem: None,
            verify_passed: None,
            verify_tail: None,
            tampered: None,
            question: None,
            spawn: None,
            fingerprint: None,
            progressed: None,
            point: None,
            usage: outcome.usage,
            warnings: outcome.warnings,
            ended_at_ms: now_ms(),
        };
        let (claim, lease) = (self.claim.clone(), self.house.lease_until_ms());
        self.session = self
            .house
            .store
            .write_for_watchers(move |sql| {
                iterations::end(sql, &claim, &ended, lease)?;
                sessions::expect(sql, &claim.session_id)
            })
            .await?;
        self.house.forget_turn(&turn.id);
        Ok(())
    }
}

/// The turn that an earlier claimant left under way.
fn left_in(history: &[Iteration]) -> Option<&Iteration> {
    history.last().filter(|last| last.ended_at_ms.is_none())
}

/// How the files of a role's turns are told from those of the loop.
fn mark_of(role: Role) -> String {
    format!(".{role}.")
}

fn is_turn_of(iteration: &Iteration, role: Role) -> bool {
    let name = Path::new(&iteration.prompt_file).file_name();
    let name = name.and_then(OsStr::to_str).unwrap_or_default();
    name.contains(&mark_of(role))
}

/// Whether a task was asked about in this turn, and not worked on.
pub(in crate::engine) fn is_consultation(iteration: &Iteration) -> bool {
    Role::ALL.iter().any(|role| is_turn_of(iteration, *role))
}

fn turn_of(left: &Iteration, agent: &str) -> Turn {
    let prompt_file = PathBuf::from(&left.prompt_file);
    let stem = left.prompt_file.trim_end_matches(".prompt.md");
    Turn {
        id: left.id.clone(),
        number: left.number,
        agent: left.agent.clone().unwrap_or_else(|| agent.to_owned()),
        room: PathBuf::from(format!("{stem}.room")),
        output_file: PathBuf::from(&left.output_file),
        prompt_file,
    }
}
