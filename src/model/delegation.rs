//! Who does a task: the daemon at once, the session's own loop, or a sub-agent in a child session; how deep that may go, and how often
//! a failed child is tried again. Pure: nothing is started here.

use super::task::TaskKind;

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
        | TaskKind::Merge => Way::Direct,
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
