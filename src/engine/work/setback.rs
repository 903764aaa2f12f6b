//! A task of a plan has failed: what its policy and the kind of error make of that.

use super::leave::{Asking, failed};
use super::{Consulted, Question, Work};
use crate::dataset;
use crate::engine::prompt::{ErrorAnalyzerPrompt, Material};
use crate::model::event::EventType;
use crate::model::policy::{self, Decision, ErrorClass, OnFailure, Setback};
use crate::model::role::{Advice, Role, json_in};
use crate::model::session::EndReason;
use crate::model::task::TaskStep;
use crate::store::driver::Sql;
use crate::store::events;
use crate::store::humans::{self, NewQuestion};
use crate::store::plans::{self, CallBack};
use crate::store::tasks::{Claim, Settlement};
use anyhow::Result;
use serde_json::{Value as Json, json};

/// What a person may say to a failure beside words of their own.
pub const CHOICES: [&str; 4] = ["retry", "skip", "replan", "stop"];

/// Why a task has failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    pub class: ErrorClass,
    pub message: String,
    /// What to ask a person, where there is a choice to be made.
    pub question: Option<String>,
    pub options: Vec<String>,
    /// What there is of a result all the same.
    pub result: Option<Json>,
}

impl Trouble {
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            question: None,
            options: Vec::new(),
            result: None,
        }
    }
}

impl From<dataset::Trouble> for Trouble {
    fn from(trouble: dataset::Trouble) -> Self {
        use dataset::Fault;
        let class = match trouble.fault {
            Fault::SqlError => ErrorClass::SqlError,
            Fault::Timeout => ErrorClass::Timeout,
            Fault::NoData => ErrorClass::NoData,
            Fault::SchemaMismatch => ErrorClass::SchemaMismatch,
            Fault::Permission => ErrorClass::Permission,
            Fault::Format => ErrorClass::Format,
            Fault::Cancelled | Fault::Other => ErrorClass::Other,
        };
        Self::new(class, trouble.message)
    }
}

/// What was decided, and by whom it was advised.
struct Verdict {
    decision: Decision,
    advice: Option<Advice>,
}

impl Work {
    /// A task of a plan has failed: tried again, skipped, planned anew, put to a person, or failed for good.
    pub async fn setback(mut self, trouble: Trouble) -> Result<()> {
        let verdict = match self.verdict_on(&trouble).await? {
            Consulted::Answer(verdict) => verdict,
            Consulted::Later(parking) => return self.park(parking).await,
            Consulted::Stopped => return self.stop().await,
            Consulted::Spent(reason, detail) => return self.finish_all(reason, detail).await,
            // Whoever was to choose cannot: what suits the kind of error is done instead.
            Consulted::Failed(_) => Verdict {
                decision: policy::decide(&Setback {
                    policy: None,
                    ..self.setback_of(&trouble).await?
                }),
                advice: None,
            },
        };
        self.act(trouble, verdict).await
    }

    async fn verdict_on(&mut self, trouble: &Trouble) -> Result<Consulted<Verdict>> {
        let mut setback = self.setback_of(trouble).await?;
        let decision = policy::decide(&setback);
        if decision != Decision::AskAnalyzer {
            return Ok(Consulted::Answer(Verdict {
                decision,
                advice: None,
            }));
        }
        let asked = self.ask_analyzer(trouble).await?;
        Ok(asked.map(|advice| {
            setback.analyzer = Some(advice.decision);
            Verdict {
                decision: policy::decide(&setback),
                advice: Some(advice),
            }
        }))
    }

    async fn setback_of(&self, trouble: &Trouble) -> Result<Setback> {
        let id = self.session.id.clone();
        let (earlier, replans) = self
            .house
            .store
            .read(move |sql| {
                let earlier = events::count(sql, &id, EventType::TaskSetback)?;
                Ok((earlier, plans::replans(sql, &id)?))
            })
            .await?;
        let as_count = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        let step = self.step.as_ref();
        Ok(Setback {
            policy: step.and_then(|step| step.on_failure),
            class: trouble.class,
            retries: as_count(self.task.retry_count),
            max_retries: self.house.config.defaults.max_retries,
            critical: step.is_some_and(|step| step.critical),
            autonomy: self.mission.autonomy,
            session_failures: as_count(earlier).saturating_add(1),
            replans: as_count(replans),
            analyzer: None,
        })
    }

    /// The orders of the tasks that wait for this one.
    async fn dependents(&self) -> Result<Vec<u32>> {
        let id = self.task.id.clone();
        self.house
            .store
            .read(move |sql| plans::dependents(sql, &id))
            .await
    }

    async fn ask_analyzer(&mut self, trouble: &Trouble) -> Result<Consulted<Advice>> {
        let schema = Advice::schema();
        let setback = self.setback_of(trouble).await?;
        let prompt = ErrorAnalyzerPrompt {
            material: Material {
                error: None,
                ..self.material().await?.for_answer_of(&schema)
            },
            class: trouble.class.as_str().to_owned(),
            failure: trouble.message.clone(),
            retries: setback.retries,
            max_retries: setback.max_retries,
            critical: setback.critical,
            may_replan: setback.replans < policy::MAX_REPLANS,
            waiting: self.dependents().await?,
        };
        let house = self.house.clone();
        let question = Question {
            role: Role::ErrorAnalyzer,
            in_workspace: false,
            schema: Some(schema),
            prompt: &|problem| {
                let material = prompt.material.clone().after(problem);
                let prompt = prompt.clone();
                house
                    .prompts
                    .error_analyzer(&ErrorAnalyzerPrompt { material, ..prompt })
            },
            read: &|text| Advice::read(&json_in(text)?),
        };
        self.consult(&question).await
    }

    /// What the history says of a failure and what was made of it.
    fn facts(&self, trouble: &Trouble, verdict: &Verdict) -> Json {
        json!({
            "error_type": trouble.class,
            "error": trouble.message,
            "decision": word_of(verdict.decision),
            "policy": self.step.as_ref().and_then(|step| step.on_failure),
            "reasoning": verdict.advice.as_ref().map(|advice| &advice.reasoning),
        })
    }

    async fn act(self, trouble: Trouble, verdict: Verdict) -> Result<()> {
        let facts = self.facts(&trouble, &verdict);
        let settlement = Settlement {
            result: trouble.result.as_ref().map(Json::to_string),
            ..failed(trouble.class.as_str(), &trouble.message)
        };
        let why = self.in_words(&trouble);
        let end = match verdict.decision {
            Decision::Retry { .. } => {
                let fix = verdict.advice.and_then(|advice| advice.fix);
                End::Retry(with_fix(settlement, fix))
            }
            Decision::Skip => End::Finish(TaskStep::Skip, settlement),
            Decision::Fail => End::Finish(TaskStep::Fail, settlement),
            Decision::Stop => End::Call(CallBack::End(EndReason::TaskFailed), settlement, why),
            Decision::Replan => End::Call(CallBack::Replan, settlement, why),
            // A choice that only the analyzer could have made, and it did not.
            Decision::AskHuman | Decision::AskAnalyzer => {
                let asking = self.asking(trouble, verdict.advice);
                End::Ask(Box::new(self.as_question(asking)))
            }
        };
        self.leave(move |sql, claim, at_ms| {
            plans::setback(sql, claim, &facts, at_ms)?;
            end.apply(sql, claim, at_ms)
        })
        .await
    }

    /// What is completed stays, the rest is planned anew.
    pub(in crate::engine) async fn replan(self, trouble: Trouble) -> Result<()> {
        let settlement = failed(trouble.class.as_str(), &trouble.message);
        let end = End::Call(CallBack::Replan, settlement, self.in_words(&trouble));
        self.leave(move |sql, claim, at_ms| end.apply(sql, claim, at_ms))
            .await
    }

    /// A question that brought no answer is a failure of its task, or no reason to go on now.
    pub async fn without_answer<T>(self, consulted: Consulted<T>) -> Result<()> {
        match consulted {
            Consulted::Answer(_) => anyhow::bail!("an answer was taken for none"),
            Consulted::Later(parking) => self.park(parking).await,
            Consulted::Stopped => self.stop().await,
            Consulted::Spent(reason, detail) => self.finish_all(reason, detail).await,
            Consulted::Failed(trouble) => self.setback(trouble).await,
        }
    }

    fn asking(&self, trouble: Trouble, advice: Option<Advice>) -> Asking {
        let (question, options) = match advice {
            Some(advice) => (advice.question, advice.options),
            None => (trouble.question.clone(), trouble.options.clone()),
        };
        let step = self.step.as_ref();
        let critical = step.is_some_and(|step| step.critical);
        let choices = CHOICES
            .iter()
            .filter(|choice| **choice != "skip" || !critical);
        Asking {
            question: question.unwrap_or_else(|| {
                format!(
                    "{} What shall be done? Words of your own are told to whoever tries again.",
                    self.in_words(&trouble)
                )
            }),
            options: match options.is_empty() {
                true => choices.map(|choice| (*choice).to_owned()).collect(),
                false => options,
            },
            error_type: Some(trouble.class.as_str().to_owned()),
            error: Some(trouble.message),
            result: trouble.result,
        }
    }

    /// Which task failed of what.
    fn in_words(&self, trouble: &Trouble) -> String {
        format!(
            "Task {} ({}) failed: {}",
            self.task.task_order, self.task.description, trouble.message
        )
    }
}

/// How a failed task is left.
enum End {
    Retry(Settlement),
    Finish(TaskStep, Settlement),
    /// The session's own task is called, for this reason.
    Call(CallBack, Settlement, String),
    Ask(Box<NewQuestion>),
}

impl End {
    fn apply(&self, sql: &mut dyn Sql, claim: &Claim, at_ms: i64) -> Result<()> {
        match self {
            End::Retry(settlement) => plans::retry(sql, claim, settlement, at_ms),
            End::Finish(step, settlement) => plans::finish(sql, claim, *step, settlement, at_ms),
            End::Call(call, settlement, why) => {
                plans::finish(sql, claim, TaskStep::Fail, settlement, at_ms)?;
                plans::call_back(sql, &claim.session_id, call, why, at_ms)
            }
            End::Ask(question) => humans::ask(sql, claim, question, at_ms),
        }
    }
}

fn with_fix(settlement: Settlement, fix: Option<String>) -> Settlement {
    let message = settlement.error_message.unwrap_or_default();
    Settlement {
        error_message: Some(match fix {
            Some(fix) => format!("{message}\n\nWhat to do differently: {fix}"),
            None => message,
        }),
        ..settlement
    }
}

fn word_of(decision: Decision) -> &'static str {
    match decision {
        Decision::Retry { .. } => OnFailure::Retry.as_str(),
        Decision::Skip => OnFailure::Skip.as_str(),
        Decision::Stop => OnFailure::Stop.as_str(),
        Decision::AskHuman | Decision::AskAnalyzer => OnFailure::Human.as_str(),
        Decision::Replan => OnFailure::Replan.as_str(),
        Decision::Fail => "fail",
    }
}
