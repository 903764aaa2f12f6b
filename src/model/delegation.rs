//! Who does a task: the daemon at once, the session's own loop, or a sub-agent in a child session; how deep that may go, and how often
//! a failed child is tried again. Pure: nothing is started here.

use super::task::TaskKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// How deep sub-agents may nest, where the configuration says nothing else.
pub const MAX_DEPTH: u32 = 3;
/// A failed sub-agent is told what went wrong and tried this often again.
const SUB_AGENT_RETRIES: u32 = 1;

/// How a task is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One step of the daemon's own: a query, a filter, a command, a single question to a model. No loop around it.
    Direct,
    /// Long work: the Ralph loop, with iterations, handoff and limits.
    Loop,
    /// Long work of another agent: a child session with a loop of its own.
    SubAgent,
}

/// Only long work is wrapped, and only `agent` tasks are long. A task without an agent is its session's own.
pub fn way(kind: TaskKind, task_agent: Option<&str>, session_agent: &str) -> Way {
    match kind {
        TaskKind::Agent if task_agent.is_some_and(|agent| agent != session_agent) => Way::SubAgent,
        TaskKind::Agent => Way::Loop,
        TaskKind::Analysis
        | TaskKind::SqlQuery
        | TaskKind::SqlAggregate
        | TaskKind::Validation
        | TaskKind::Transform
        | TaskKind::Shell
        | TaskKind::Merge
        | TaskKind::Plan => Way::Direct,
    }
}

/// A sub-agent that would be too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooDeep {
    pub max_depth: u32,
}

impl std::fmt::Display for TooDeep {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "sub-agents may be at most {} deep, and this session is; do the work here instead",
            self.max_depth
        )
    }
}

impl std::error::Error for TooDeep {}

/// The depth of a child of a session at `depth`; a session of a person's own is at 0.
pub fn child_depth(depth: u32, max_depth: u32) -> Result<u32, TooDeep> {
    if depth < max_depth {
        Ok(depth + 1)
    } else {
        Err(TooDeep { max_depth })
    }
}

/// What follows when a sub-agent has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterChild {
    RetryWithError,
    /// The step has failed; now its own failure policy speaks.
    Fail,
}

/// What follows when the sub-agent of a step has failed, after `earlier_failures` before.
pub fn after_failed_child(earlier_failures: u32) -> AfterChild {
    if earlier_failures < SUB_AGENT_RETRIES {
        AfterChild::RetryWithError
    } else {
        AfterChild::Fail
    }
}

/// How the session of a sub-agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildEnd {
    Open,
    Completed,
    Failed,
    /// Its budget is what was left of its parent's: another try would have none.
    Spent,
    Cancelled,
}

/// What is to be done about a piece of work for a sub-agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextChild {
    First,
    /// Once more, told what went wrong.
    Again,
    Wait,
    /// Nothing more: the last one says what it came to.
    Over,
}

/// What follows upon the sessions that a piece of work has had, first to last.
pub fn next_child(children: &[ChildEnd]) -> NextChild {
    let failures = children
        .iter()
        .filter(|end| **end == ChildEnd::Failed)
        .count();
    match children.last() {
        None => NextChild::First,
        Some(ChildEnd::Open) => NextChild::Wait,
        Some(ChildEnd::Completed | ChildEnd::Spent | ChildEnd::Cancelled) => NextChild::Over,
        Some(ChildEnd::Failed) => {
            let earlier = u32::try_from(failures)
                .unwrap_or(u32::MAX)
                .saturating_sub(1);
            match after_failed_child(earlier) {
                AfterChild::RetryWithError => NextChild::Again,
                AfterChild::Fail => NextChild::Over,
            }
        }
    }
}

/// What a completed sub-agent came to, as the result of the step that it was given.
pub fn result_of_step(answer: &str, facts: Json) -> Json {
    let mut result = json!({"answer": answer});
    if let (Some(result), Json::Object(facts)) = (result.as_object_mut(), facts) {
        result.extend(facts);
    }
    result
}

/// The longest task that an agent may give to another; more belongs into a file.
pub const MAX_TASK_CHARACTERS: usize = 16_000;

/// A piece of work that an agent gives to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Errand {
    pub agent: String,
    pub task: String,
}

impl Errand {
    /// As it was written, or what is wrong with it.
    pub fn read(agent: &str, task: &str) -> Result<Self, String> {
        let (agent, task) = (agent.trim(), task.trim());
        let length = task.chars().count();
        match () {
            _ if agent.is_empty() => Err("No agent is named.".to_owned()),
            _ if task.is_empty() => Err("The task is empty.".to_owned()),
            _ if length > MAX_TASK_CHARACTERS => Err(format!(
                "The task has {length} characters; at most {MAX_TASK_CHARACTERS} are passed on."
            )),
            _ => Ok(Self {
                agent: agent.to_owned(),
                task: task.to_owned(),
            }),
        }
    }
}

/// What an agent left for another one, as far as it can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Spawn {
    Errand(Errand),
    Unusable { problem: String },
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_refusal_says_what_to_do() {
        let refusal = child_depth(3, MAX_DEPTH).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "sub-agents may be at most 3 deep, and this session is; do the work here instead"
        );
        assert!(child_depth(0, 0).is_err());
    }

    #[test]
    fn what_follows_upon_the_sessions_of_a_piece_of_work() {
        use ChildEnd::*;
        for (children, next) in [
            (&[][..], NextChild::First),
            (&[Open], NextChild::Wait),
            (&[Completed], NextChild::Over),
            (&[Spent], NextChild::Over),
            (&[Cancelled], NextChild::Over),
            (&[Failed], NextChild::Again),
            (&[Failed, Open], NextChild::Wait),
            (&[Failed, Completed], NextChild::Over),
            (&[Failed, Cancelled], NextChild::Over),
            (&[Failed, Failed], NextChild::Over),
        ] {
            assert_eq!(next_child(children), next, "{children:?}");
        }
    }

    #[test]
    fn an_errand_needs_an_agent_and_a_task() {
        let errand = Errand::read(" scout ", " Look around. \n").unwrap();
        assert_eq!((&*errand.agent, &*errand.task), ("scout", "Look around."));
        for (agent, task, words) in [
            ("", "x", "No agent"),
            ("x", " ", "empty"),
            ("x", &*"x".repeat(16_001), "16001 characters"),
        ] {
            assert!(Errand::read(agent, task).unwrap_err().contains(words));
        }
    }

    /// Runs a step's sub-agent until it is settled; each entry is whether that try works.
    fn tries(outcomes: &[bool]) -> (u32, bool) {
        let mut failures = 0;
        for &worked in outcomes {
            if worked {
                return (failures + 1, true);
            }
            if after_failed_child(failures) == AfterChild::Fail {
                return (failures + 1, false);
            }
            failures += 1;
        }
        (failures, false)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        // Feature: agent-harnesses, Property 16: Sub-agent result incorporation
        #[test]
        fn property_16_the_answer_of_a_sub_agent_is_the_result_of_its_step(answer in "\\PC{0,200}", agent in "[a-z]{1,8}") {
            let result = result_of_step(&answer, json!({"agent": agent, "verified": "claimed"}));
            let read: Json = serde_json::from_str(&result.to_string()).unwrap();
            prop_assert_eq!(read["answer"].as_str(), Some(answer.as_str()));
            prop_assert_eq!(read["agent"].as_str(), Some(agent.as_str()));
        }

        // Feature: agent-harnesses, Property 17: Sub-agent failure retry protocol
        #[test]
        fn property_17_a_failed_sub_agent_is_retried_exactly_once(outcomes in proptest::collection::vec(any::<bool>(), 2..20)) {
            let expected = match outcomes[..2] {
                [true, _] => (1, true),
                [false, worked] => (2, worked),
                _ => unreachable!("two outcomes at least"),
            };
            prop_assert_eq!(tries(&outcomes), expected);
        }

        // Feature: agent-harnesses, Property 18: Sub-agent depth enforcement
        #[test]
        fn property_18_no_chain_is_deeper_than_allowed(max_depth in 0..20u32, attempts in 0..50u32) {
            let mut depth = 0;
            for _ in 0..attempts {
                match child_depth(depth, max_depth) {
                    Ok(deeper) => {
                        prop_assert_eq!(deeper, depth + 1);
                        depth = deeper;
                    }
                    Err(refusal) => prop_assert_eq!((depth, refusal.max_depth), (max_depth, max_depth)),
                }
                prop_assert!(depth <= max_depth);
            }
            prop_assert_eq!(depth, attempts.min(max_depth));
        }

        // Feature: agent-harnesses, Property 20: Ralph Loop integration, long-running task wrapping
        #[test]
        fn property_20_only_long_work_is_wrapped(
            kind in proptest::sample::select(TaskKind::ALL),
            task_agent in proptest::option::of("[ab]"),
            session_agent in "[ab]",
        ) {
            let way = way(kind, task_agent.as_deref(), &session_agent);
            prop_assert_eq!(way == Way::Direct, kind != TaskKind::Agent);
            let elsewhere = task_agent.is_some_and(|agent| agent != session_agent);
            prop_assert_eq!(way == Way::SubAgent, kind == TaskKind::Agent && elsewhere);
        }
    }
}
