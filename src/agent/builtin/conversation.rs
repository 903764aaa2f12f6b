//! The step loop: ask the model, work off its calls, tell it what came of them, until it has no more calls or a limit is hit.
//! Every step is in the journal before the next one begins.

use super::journal::{Entry, Journal};
use super::mouth;
use super::settings::{Settings, Words};
use super::workbench::Workbench;
use crate::agent::provider::{Provider, Question};
use crate::agent::stream::ralphd::{How, Line};
use crate::agent::tool::ToolCard;
use crate::model::conversation::compaction::{self, Plan, Window};
use crate::model::conversation::{CallResult, History, Reply, ReplyStop, Step, StepUsage};
use crate::model::failure::{Failure, FailureClass};
use anyhow::Result;

/// What a call is answered with that was under way when its process was killed.
const UNDER_WAY: &str = "This call was under way when the agent was interrupted; it may have been done, wholly or in part. Look before you do it again.";
/// Times that the history is cut for one reply because the server says that it is too long.
const MAX_CUTS: u32 = 3;
/// So many steps before the last, the model is told of it.
const LAST_STEPS: u32 = 3;

/// A conversation that is being held.
pub struct Conversation {
    pub settings: Settings,
    pub words: Words,
    pub cards: Vec<ToolCard>,
    pub provider: Box<dyn Provider>,
    pub workbench: Workbench,
    pub journal: Journal,
    pub history: History,
    /// Tokens of what is said beside the history.
    pub fixed_tokens: u64,
    /// What the last reply took in and gave out; nothing where the history is another since.
    pub reported: u64,
    /// Replies so far, those for summaries counted in.
    pub number: u32,
    /// Replies so far, those for summaries not counted in.
    pub steps: u32,
}

/// How a conversation ended.
pub enum Ending {
    Over(How, String),
    Failed(Failure),
}

impl Conversation {
    /// Holds the conversation to its end.
    pub async fn hold(&mut self) -> Result<Ending> {
        loop {
            // A stop that ended a tool is seen now, and not after one more question.
            tokio::task::yield_now().await;
            if self.steps >= self.settings.max_steps {
                let detail = format!("stopped after {} steps, as max_steps says", self.steps);
                return Ok(Ending::Over(How::MaxSteps, detail));
            }
            let reply = match self.next_reply().await? {
                Ok(reply) => reply,
                Err(failure) => return Ok(Ending::Failed(failure)),
            };
            if let Some(ending) = self.take_in(reply).await? {
                return Ok(ending);
            }
        }
    }

    /// Goes on from the last thing that an earlier process noted; the ending, where it had come to that.
    pub fn take_up(&mut self, last: Option<&Entry>) -> Result<Option<Ending>> {
        match last {
            Some(Entry::Outcome {
                end: Some((how, why)),
                ..
            }) => Ok(Some(Ending::Over(*how, why.clone()))),
            Some(Entry::Reply(reply)) => match ending_with(reply) {
                Some(ending) => Ok(Some(ending)),
                None => self.close_open_step(reply).map(|()| None),
            },
            _ => Ok(None),
        }
    }

    /// Answers the calls that an earlier process had begun.
    fn close_open_step(&mut self, reply: &Reply) -> Result<()> {
        let results = reply.calls.iter().map(|call| CallResult {
            call_id: call.id.clone(),
            text: UNDER_WAY.to_owned(),
            ..CallResult::default()
        });
        let results: Vec<CallResult> = results.collect();
        for (index, result) in results.iter().enumerate() {
            mouth::tell_result(self.number, index, result)?;
        }
        self.close_step(results, self.remark_on(reply), None)
    }

    /// The model's next words. A history that is about to be too long is shortened first, and again when the server says it is.
    async fn next_reply(&mut self) -> Result<Result<Reply, Failure>> {
        if self
            .window()
            .is_full(&self.history, self.fixed_tokens, self.reported)
        {
            let window = self.window();
            match compaction::plan(&self.history, &window, self.fixed_tokens, self.reported) {
                Ok(plan) => self.compact(&plan).await?,
                Err(too_small) => return Ok(Err(overflow(too_small.to_string()))),
            }
        }
        for _ in 0..MAX_CUTS {
            let failure = match self.ask().await {
                Err(failure) if failure.class == FailureClass::ContextOverflow => failure,
                answered => return Ok(answered),
            };
            match compaction::force(&self.history, &self.window(), self.fixed_tokens) {
                Ok(plan) if plan.let_go > 0 => self.compact(&plan).await?,
                _ => return Ok(Err(failure)),
            }
        }
        Ok(self.ask().await)
    }

    async fn ask(&mut self) -> Result<Reply, Failure> {
        let reply = self
            .provider
            .reply(&Question {
                system: &self.words.system,
                history: &self.history,
                tools: &self.cards,
                schema: None,
                max_output_tokens: self.settings.max_output_tokens,
            })
            .await?;
        Ok(Reply {
            text: self.workbench.mask.text(&reply.text).into_owned(),
            ..reply
        })
    }

    /// Notes a reply and works off its calls; the ending, where it was the last.
    async fn take_in(&mut self, reply: Reply) -> Result<Option<Ending>> {
        self.number += 1;
        self.steps += 1;
        self.reported = reply.usage.input_tokens + reply.usage.output_tokens;
        mouth::tell_reply(self.number, &reply)?;
        self.journal.note(&Entry::Reply(reply.clone()))?;
        if let Some(ending) = ending_with(&reply) {
            return Ok(Some(ending));
        }
        let worked = self.workbench.work(self.number, &reply).await?;
        let remark = self.remark_on(&reply);
        self.history.steps.push(Step {
            reply,
            ..Step::default()
        });
        self.close_step(worked.results, remark, worked.end.clone())?;
        Ok(worked.end.map(|(how, why)| Ending::Over(how, why)))
    }

    /// Notes what came of the last reply, and why the conversation is over with it, if it is.
    fn close_step(
        &mut self,
        results: Vec<CallResult>,
        remark: Option<String>,
        end: Option<(How, String)>,
    ) -> Result<()> {
        if let Some(text) = &remark {
            mouth::tell(&Line::Remark {
                text: text.as_str().into(),
            })?;
        }
        let entry = Entry::Outcome {
            results,
            remark,
            end,
        };
        self.journal.note(&entry)?;
        if let (
            Some(step),
            Entry::Outcome {
                results, remark, ..
            },
        ) = (self.history.steps.last_mut(), entry)
        {
            step.results = results;
            step.remark = remark;
        }
        Ok(())
    }

    fn remark_on(&self, reply: &Reply) -> Option<String> {
        let cut_off = reply.calls.is_empty() && reply.stop == ReplyStop::MaxTokens;
        let left = self.settings.max_steps.saturating_sub(self.steps);
        let cut_off = cut_off.then(|| {
            format!(
                "Your reply was cut off after {} tokens. Go on where it ended, in smaller pieces.",
                self.settings.max_output_tokens
            )
        });
        let last = (left > 0 && left <= LAST_STEPS && self.settings.max_steps > 2 * LAST_STEPS).then(|| {
            format!(
                "{left} of {} steps are left in this iteration. Bring things into order now: write state/handoff.json for the next one, then stop.",
                self.settings.max_steps
            )
        });
        match (cut_off, last) {
            (Some(one), Some(other)) => Some(format!("{one}\n{other}")),
            (one, other) => one.or(other),
        }
    }

    fn window(&self) -> Window {
        Window {
            context_tokens: self.settings.context_window,
            compact_at: self.settings.compact_at,
            protect_tokens: self.settings.protect_tokens,
        }
    }

    /// Lets the oldest steps go for a summary; where no model makes one, for a plain digest.
    async fn compact(&mut self, plan: &Plan) -> Result<()> {
        let transcript = History {
            objective: plan.transcript.clone(),
            ..History::default()
        };
        let question = Question {
            system: &self.words.compaction,
            history: &transcript,
            tools: &[],
            schema: None,
            max_output_tokens: plan.summary_max_tokens,
        };
        let (summary, usage) = match self.provider.reply(&question).await {
            Ok(reply) => (
                self.workbench.mask.text(&reply.text).into_owned(),
                reply.usage,
            ),
            Err(failure) => {
                let why = format!("no summary was made: {}", failure.detail);
                mouth::tell(&Line::Remark { text: why.into() })?;
                (String::new(), StepUsage::default())
            }
        };
        self.number += 1;
        let history = std::mem::take(&mut self.history);
        self.history = compaction::apply(history, plan, &summary);
        self.reported = 0;
        mouth::tell_compacted(self.number, plan.let_go, usage)?;
        self.journal.note(&Entry::Compacted {
            steps: plan.let_go,
            summary: self.history.summary.clone().unwrap_or_default(),
            usage,
        })
    }
}

/// How a reply ends the conversation by itself, if it does.
fn ending_with(reply: &Reply) -> Option<Ending> {
    if reply.stop == ReplyStop::Refusal {
        return Some(Ending::Failed(refusal(reply)));
    }
    reply
        .is_final()
        .then(|| Ending::Over(How::Finished, String::new()))
}

fn overflow(detail: String) -> Failure {
    Failure {
        class: FailureClass::ContextOverflow,
        detail,
        reset_at_ms: None,
    }
}

fn refusal(reply: &Reply) -> Failure {
    let said = reply.text.lines().find(|line| !line.trim().is_empty());
    Failure {
        class: FailureClass::Refusal,
        detail: format!("the model declined: {}", said.unwrap_or("without words")),
        reset_at_ms: None,
    }
}
