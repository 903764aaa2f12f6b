//! Where the calls of a reply are worked off: admitted or refused, guarded by hooks, run with their retries, those that only read
//! side by side. It must not ask the model anything.

use super::hooks::{Decision, Hooks};
use super::mouth;
use crate::agent::stream::ralphd::How;
use crate::agent::tool::{Fault, Tool};
use crate::model::backoff::{Patience, Waited};
use crate::model::conversation::doom::{Doom, Repetition};
use crate::model::conversation::permit::Permit;
use crate::model::conversation::{Call, CallResult, Reply};
use crate::model::mask::Mask;
use anyhow::Result;
use futures_util::future::join_all;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Tries of a tool call that failed for a passing reason.
const PATIENCE: Patience = Patience {
    base_ms: 100,
    retries: 3,
    max_wait_ms: 5_000,
};
/// Calls that only read and run at the same time.
const MAX_SIDE_BY_SIDE: usize = 8;

/// The tools and all that stands between them and the model.
pub struct Workbench {
    pub tools: HashMap<&'static str, Box<dyn Tool>>,
    pub permit: Permit,
    pub doom: Doom,
    pub hooks: Hooks,
    pub timeout: Duration,
    pub mask: Arc<Mask>,
}

/// What came of all calls of a reply.
pub struct Worked {
    pub results: Vec<CallResult>,
    /// Why the conversation is over, if it is.
    pub end: Option<(How, String)>,
}

/// What is to become of one call.
enum Fate<'a> {
    Run {
        tool: &'a dyn Tool,
        arguments: Json,
        warning: Option<String>,
    },
    Refused(String),
}

/// What became of one call.
struct Done {
    result: CallResult,
    end: Option<(How, String)>,
}

impl Workbench {
    /// Works off the calls of a reply, in their order.
    pub async fn work(&mut self, number: u32, reply: &Reply) -> Result<Worked> {
        let mut doomed = None;
        let mut fates = Vec::new();
        for call in &reply.calls {
            fates.push(decide(
                &self.tools,
                &mut self.permit,
                &mut self.doom,
                call,
                &mut doomed,
            ));
        }
        let mut worked = Worked {
            results: Vec::new(),
            end: None,
        };
        let mut calls = reply.calls.iter().zip(fates).peekable();
        while calls.peek().is_some() {
            let mut batch = Vec::new();
            while let Some(next) = calls.next_if(|(_, fate)| {
                batch.is_empty() || (batch.len() < MAX_SIDE_BY_SIDE && only_reads(fate))
            }) {
                let reads = only_reads(&next.1);
                batch.push(next);
                if !reads {
                    break;
                }
            }
            self.run_batch(number, batch, &mut worked).await?;
        }
        worked.end = worked.end.or(doomed.map(|why| (How::DoomLoop, why)));
        Ok(worked)
    }

    /// Runs some calls at the same time; after the end of the conversation they are only answered.
    async fn run_batch(
        &self,
        number: u32,
        batch: Vec<(&Call, Fate<'_>)>,
        worked: &mut Worked,
    ) -> Result<()> {
        let first = worked.results.len();
        for (index, (call, _)) in batch.iter().enumerate() {
            mouth::tell_call(number, first + index, call)?;
        }
        let over = worked.end.is_some();
        let running = batch.into_iter().map(|(call, fate)| async move {
            match fate {
                Fate::Run { .. } if over => refused(
                    call,
                    "Not run: the iteration was ended before it.".to_owned(),
                ),
                Fate::Run {
                    tool,
                    arguments,
                    warning,
                } => self.run(call, tool, arguments, warning).await,
                Fate::Refused(why) => refused(call, why),
            }
        });
        for (index, done) in join_all(running).await.into_iter().enumerate() {
            mouth::tell_result(number, first + index, &done.result)?;
            worked.results.push(done.result);
            worked.end = worked.end.take().or(done.end);
        }
        Ok(())
    }

    async fn run(
        &self,
        call: &Call,
        tool: &dyn Tool,
        arguments: Json,
        warning: Option<String>,
    ) -> Done {
        match self.hooks.before(call, &arguments).await {
            Decision::Continue => {}
            Decision::Block(reason) => {
                return refused(call, format!("Blocked, and not run: {reason}"));
            }
            Decision::Interrupt(reason) => return interrupted(call, &reason),
        }
        let started = Instant::now();
        let (said, retries) = self.try_tool(tool, &arguments).await;
        let (text, ok) = match said {
            Ok(text) => (text, true),
            Err(Fault::Wrong(why) | Fault::Passing(why)) => (why, false),
        };
        let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut result = CallResult {
            call_id: call.id.clone(),
            text: self.mask.text(&text).into_owned(),
            ok,
            // The clock's grain is coarser than a quick tool.
            duration_ms: took_ms.max(1),
            retries,
        };
        let end = match self.hooks.after(call, &arguments, &result).await {
            Decision::Continue => None,
            Decision::Block(reason) => {
                result.text = format!("It was run, but its result is withheld: {reason}");
                result.ok = false;
                None
            }
            Decision::Interrupt(reason) => Some(interruption(&reason)),
        };
        if let Some(warning) = warning {
            result.text.push_str("\n\n");
            result.text.push_str(&warning);
        }
        let asked = tool.ends_turn() && result.ok;
        let asked = asked.then(|| (How::Asked, "somebody else has the next word".to_owned()));
        Done {
            result,
            end: end.or(asked),
        }
    }

    async fn try_tool(&self, tool: &dyn Tool, arguments: &Json) -> (Result<String, Fault>, u32) {
        let mut waited = Waited::default();
        loop {
            let said = match tool.has_own_deadline() {
                true => tool.call(arguments.clone()).await,
                false => tokio::time::timeout(self.timeout, tool.call(arguments.clone()))
                    .await
                    .unwrap_or_else(|_| Err(took_too_long(self.timeout))),
            };
            let next = match &said {
                Err(Fault::Passing(_)) => PATIENCE.next(waited, None),
                _ => None,
            };
            let Some(next) = next else {
                return (said, waited.times);
            };
            waited = next;
            tokio::time::sleep(Duration::from_millis(waited.last_ms.unsigned_abs())).await;
        }
    }
}

fn decide<'a>(
    tools: &'a HashMap<&'static str, Box<dyn Tool>>,
    permit: &mut Permit,
    doom: &mut Doom,
    call: &Call,
    doomed: &mut Option<String>,
) -> Fate<'a> {
    if doomed.is_some() {
        return Fate::Refused("Not run: the iteration was ended before it.".to_owned());
    }
    let warning = match doom.look(call) {
        Repetition::Fine => None,
        Repetition::Warned(warning) => Some(warning),
        Repetition::Doomed(why) => {
            *doomed = Some(why.clone());
            return Fate::Refused(why);
        }
    };
    let refuse = |why: String| {
        Fate::Refused(match &warning {
            Some(warning) => format!("{why}\n\n{warning}"),
            None => why,
        })
    };
    if let Err(refusal) = permit.admit(&call.name) {
        return refuse(refusal.to_string());
    }
    let Some(tool) = tools.get(call.name.as_str()) else {
        return refuse(format!("The tool '{}' is not here.", call.name));
    };
    let arguments = match call.arguments.trim() {
        "" => "{}",
        given => given,
    };
    match serde_json::from_str(arguments) {
        Ok(arguments @ Json::Object(_)) => Fate::Run {
            tool: &**tool,
            arguments,
            warning,
        },
        Ok(_) => refuse("The arguments must be a JSON object.".to_owned()),
        Err(error) => refuse(format!(
            "The arguments are not valid JSON ({error}), so nothing was run. Write them again; where they are long, in smaller pieces."
        )),
    }
}

fn only_reads(fate: &Fate<'_>) -> bool {
    match fate {
        Fate::Run { tool, .. } => tool.only_reads(),
        Fate::Refused(_) => true,
    }
}

fn took_too_long(limit: Duration) -> Fault {
    Fault::Wrong(format!(
        "It took longer than {} s and was ended. Ask for less at once.",
        limit.as_secs()
    ))
}

fn refused(call: &Call, why: String) -> Done {
    Done {
        result: CallResult {
            call_id: call.id.clone(),
            text: why,
            ok: false,
            ..CallResult::default()
        },
        end: None,
    }
}

fn interrupted(call: &Call, reason: &str) -> Done {
    Done {
        end: Some(interruption(reason)),
        ..refused(
            call,
            format!("Not run, and the iteration is ended: {reason}"),
        )
    }
}

fn interruption(reason: &str) -> (How, String) {
    (How::Interrupted, format!("ended by a hook: {reason}"))
}
