//! Whether a tool call may run: is there such a tool, may this agent use it, and has it calls left.
//! A refusal is told to the model, in words that help it on. It must not run anything, nor know what a tool does.

use crate::model::nearest::nearest;

/// A made-up name is repeated no further than this.
const MAX_NAME_BYTES: usize = 80;

/// What an agent may call, and how much of it is used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    known: Vec<String>,
    allowed: Vec<String>,
    max_calls: u64,
    executed: u64,
}

/// Why a call does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Unknown {
        name: String,
        nearest: Option<String>,
        allowed: Vec<String>,
    },
    NotAllowed {
        name: String,
        allowed: Vec<String>,
    },
    UsedUp {
        max_calls: u64,
    },
}

impl Permit {
    /// For an agent that may use the `allowed` ones of the `known` tools, and has made `executed` of its calls already.
    pub fn new(known: Vec<String>, allowed: Vec<String>, max_calls: u64, executed: u64) -> Self {
        let allowed = allowed.into_iter().filter(|name| known.contains(name));
        Self {
            allowed: allowed.collect(),
            known,
            max_calls,
            executed,
        }
    }

    /// Lets a call run and counts it, or says why not. What is refused costs nothing.
    pub fn admit(&mut self, name: &str) -> Result<(), Refusal> {
        let is = |other: &String| other == name;
        if !self.known.iter().any(is) {
            let near = nearest(name, self.allowed.iter().map(String::as_str));
            return Err(Refusal::Unknown {
                name: brief(name),
                nearest: near.map(str::to_owned),
                allowed: self.allowed.clone(),
            });
        }
        if !self.allowed.iter().any(is) {
            return Err(Refusal::NotAllowed {
                name: brief(name),
                allowed: self.allowed.clone(),
            });
        }
        if self.executed >= self.max_calls {
            return Err(Refusal::UsedUp {
                max_calls: self.max_calls,
            });
        }
        self.executed += 1;
        Ok(())
    }

    /// How many calls were let run.
    pub fn executed(&self) -> u64 {
        self.executed
    }
}

fn brief(name: &str) -> String {
    name[..name.floor_char_boundary(MAX_NAME_BYTES)].to_owned()
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown {
                name,
                nearest,
                allowed,
            } => {
                write!(formatter, "There is no tool '{name}'.")?;
                if let Some(nearest) = nearest {
                    write!(formatter, " Did you mean '{nearest}'?")?;
                }
                write_allowed(formatter, allowed)
            }
            Self::NotAllowed { name, allowed } => {
                write!(
                    formatter,
                    "You are not permitted to use '{name}'; it was not run, and asking again will not change that."
                )?;
                write_allowed(formatter, allowed)
            }
            Self::UsedUp { max_calls } => write!(
                formatter,
                "All {max_calls} tool calls of this iteration are used up; this one was not run, and none will be. \
                 Stop calling tools and answer now: what is done, what is not, and what comes next."
            ),
        }
    }
}

fn write_allowed(formatter: &mut std::fmt::Formatter<'_>, allowed: &[String]) -> std::fmt::Result {
    if allowed.is_empty() {
        return formatter.write_str(" You have no tools: answer with what you know.");
    }
    write!(formatter, " The tools you can use: {}.", allowed.join(", "))
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KNOWN: [&str; 5] = ["read", "write", "bash", "git_status", "git_diff"];

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn refusals_teach() {
        let no_tool = "There is no tool";
        let usable = "The tools you can use: read, git_status.";
        for (name, max_calls, expected) in [
            ("read", 1, "ok".to_owned()),
            ("raed", 1, format!("{no_tool} 'raed'. Did you mean 'read'? {usable}")),
            ("git-status", 1, format!("{no_tool} 'git-status'. Did you mean 'git_status'? {usable}")),
            // What is forbidden is not suggested.
            ("bsh", 1, format!("{no_tool} 'bsh'. {usable}")),
            ("", 1, format!("{no_tool} ''. {usable}")),
            (
                "bash",
                0,
                format!("You are not permitted to use 'bash'; it was not run, and asking again will not change that. {usable}"),
            ),
            (
                "read",
                0,
                "All 0 tool calls of this iteration are used up; this one was not run, and none will be. Stop calling \
                 tools and answer now: what is done, what is not, and what comes next."
                    .to_owned(),
            ),
        ] {
            let mut permit = Permit::new(names(&KNOWN), names(&["read", "git_status"]), max_calls, 0);
            let told = permit.admit(name).map_or_else(|refusal| refusal.to_string(), |()| "ok".to_owned());
            assert_eq!(told, expected, "{name}");
        }
        let mut none = Permit::new(names(&KNOWN), Vec::new(), 9, 0);
        assert!(
            none.admit("read")
                .unwrap_err()
                .to_string()
                .contains("You have no tools")
        );
        let long = none.admit(&"x".repeat(100_000)).unwrap_err().to_string();
        assert!(long.len() < 200, "{}", long.len());
    }

    #[test]
    fn a_resumed_count_goes_on() {
        let mut permit = Permit::new(names(&KNOWN), names(&KNOWN), 100, 99);
        assert_eq!(permit.admit("read"), Ok(()));
        assert_eq!(
            permit.admit("read"),
            Err(Refusal::UsedUp { max_calls: 100 })
        );
    }

    fn called() -> impl Strategy<Value = Vec<String>> {
        let name = prop_oneof![4 => proptest::sample::select(names(&KNOWN)), 1 => "[a-z_]{0,8}"];
        proptest::collection::vec(name, 0..60)
    }

    fn allowed() -> impl Strategy<Value = Vec<String>> {
        proptest::sample::subsequence(names(&KNOWN), 0..=KNOWN.len())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        // Feature: agent-harnesses, Property 6: Tool call permission enforcement
        #[test]
        fn property_6_only_permitted_tools_run(calls in called(), allowed in allowed()) {
            let mut permit = Permit::new(names(&KNOWN), allowed.clone(), u64::MAX, 0);
            for name in &calls {
                let before = permit.executed();
                let permitted = allowed.contains(name);
                prop_assert_eq!(permit.admit(name).is_ok(), permitted, "{}", name);
                prop_assert_eq!(permit.executed(), before + u64::from(permitted));
            }
        }

        // Feature: agent-harnesses, Property 9: Tool call budget enforcement
        #[test]
        fn property_9_after_the_budget_nothing_runs(calls in called(), allowed in allowed(), max_calls in 0..40u64) {
            let mut permit = Permit::new(names(&KNOWN), allowed.clone(), max_calls, 0);
            let mut executed = 0;
            for name in &calls {
                match permit.admit(name) {
                    Ok(()) => executed += 1,
                    Err(Refusal::UsedUp { .. }) => prop_assert_eq!(executed, max_calls),
                    Err(_) => prop_assert!(!allowed.contains(name)),
                }
                prop_assert!(executed <= max_calls);
            }
            let permitted = calls.iter().filter(|name| allowed.contains(name)).count() as u64;
            prop_assert_eq!(executed, permitted.min(max_calls), "refusals by permission cost nothing");
        }
    }
}
