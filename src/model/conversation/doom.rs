//! Doom loops: a model that makes the same call again and again is warned, and stopped if it goes on.
//! What is known follows from the conversation alone, so that a resumed one stands where it stood. It must not run anything.

use super::{Call, History};
use serde_json::Value as Json;

/// How often the last call was made in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Doom {
    /// So many in a row earn a warning; 0 watches nothing.
    threshold: u32,
    last: Option<(String, Input)>,
    times: u32,
}

/// What a call means for the iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repetition {
    Fine,
    /// Run it, and tell the model this.
    Warned(String),
    /// Do not run it: the iteration ends, for this reason.
    Doomed(String),
}

/// Arguments as they are compared: two spellings of one JSON value are the same input.
#[derive(Clone, Debug, PartialEq)]
enum Input {
    Json(Json),
    Text(String),
}

impl Input {
    fn of(arguments: &str) -> Self {
        // A tool that takes nothing is called with an empty object or with nothing at all.
        if arguments.trim().is_empty() {
            return Self::Json(Json::Object(serde_json::Map::new()));
        }
        match serde_json::from_str(arguments) {
            Ok(value) => Self::Json(value),
            Err(_) => Self::Text(arguments.to_owned()),
        }
    }
}

impl Doom {
    /// Where a conversation stands.
    pub fn of(history: &History, threshold: u32) -> Self {
        let mut doom = Self {
            threshold,
            last: None,
            times: 0,
        };
        let mut newest_first = history
            .steps
            .iter()
            .rev()
            .flat_map(|step| step.reply.calls.iter().rev());
        if threshold > 0
            && let Some(last) = newest_first.next()
        {
            let key = key_of(last);
            let again = newest_first.take_while(|call| is_same(&key, call)).count();
            doom.times = u32::try_from(again).unwrap_or(u32::MAX).saturating_add(1);
            doom.last = Some(key);
        }
        doom
    }

    /// Takes in the next call, in the order the model wrote them.
    pub fn look(&mut self, call: &Call) -> Repetition {
        if self.threshold == 0 {
            return Repetition::Fine;
        }
        match &self.last {
            Some(last) if is_same(last, call) => self.times = self.times.saturating_add(1),
            _ => {
                self.times = 1;
                self.last = Some(key_of(call));
            }
        }
        match self.times.cmp(&self.threshold) {
            std::cmp::Ordering::Less => Repetition::Fine,
            std::cmp::Ordering::Equal => Repetition::Warned(warning(&call.name, self.times)),
            std::cmp::Ordering::Greater => Repetition::Doomed(ending(&call.name, self.times)),
        }
    }
}

fn key_of(call: &Call) -> (String, Input) {
    (call.name.clone(), Input::of(&call.arguments))
}

fn is_same((name, input): &(String, Input), call: &Call) -> bool {
    *name == call.name && *input == Input::of(&call.arguments)
}

fn warning(name: &str, times: u32) -> String {
    format!(
        "You have called {name} with the same input {times} times in a row; doing it again will tell you nothing new. \
         Use what you already have, change the input, or try another way. The same call once more ends this iteration."
    )
}

fn ending(name: &str, times: u32) -> String {
    format!("{name} was called with the same input {times} times in a row, in spite of a warning")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::conversation::{Reply, Step};
    use proptest::prelude::*;

    fn call(name: &str, arguments: &str) -> Call {
        Call {
            id: "any".to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    fn step(calls: &[Call]) -> Step {
        Step {
            reply: Reply {
                calls: calls.to_vec(),
                ..Reply::default()
            },
            ..Step::default()
        }
    }

    /// One letter a call: `.` fine, `w` warned, `x` doomed.
    fn verdicts(threshold: u32, calls: &[(&str, &str)]) -> String {
        let mut doom = Doom::of(&History::default(), threshold);
        let letter = |(name, arguments): &(&str, &str)| match doom.look(&call(name, arguments)) {
            Repetition::Fine => '.',
            Repetition::Warned(_) => 'w',
            Repetition::Doomed(_) => 'x',
        };
        calls.iter().map(letter).collect()
    }

    #[test]
    fn only_the_same_call_in_a_row_counts() {
        let a = ("read", r#"{"path":"a","limit":2}"#);
        let a_spelled_otherwise = ("read", "{ \"limit\": 2,\n \"path\": \"\\u0061\" }");
        let b = ("read", r#"{"path":"b"}"#);
        let other_tool = ("write", a.1);
        let broken = ("read", r#"{"path":"#);
        let broken_otherwise = ("read", r#"{ "path":"#);
        for (threshold, calls, expected) in [
            (3, vec![a, a, a, a], "..wx"),
            (
                3,
                vec![a, a_spelled_otherwise, a, a_spelled_otherwise, a],
                "..wxx",
            ),
            (3, vec![a, b, a, b, a, b], "......"),
            (3, vec![a, a, other_tool, a, a, a], ".....w"),
            (3, vec![a, a, a, b, a, a, a], "..w...w"),
            (2, vec![broken, broken, broken_otherwise], ".w."),
            (
                2,
                vec![
                    ("git_status", ""),
                    ("git_status", "{}"),
                    ("git_status", " "),
                ],
                ".wx",
            ),
            (2, vec![("t", "[1,2]"), ("t", "[2,1]")], ".."),
            (1, vec![a, a], "wx"),
            (0, vec![a, a, a, a, a], "....."),
        ] {
            assert_eq!(verdicts(threshold, &calls), expected, "{calls:?}");
        }
    }

    #[test]
    fn the_words_name_the_tool_and_the_way_out() {
        let mut doom = Doom::of(&History::default(), 1);
        let Repetition::Warned(warning) = doom.look(&call("grep", "{}")) else {
            panic!()
        };
        assert!(
            warning.contains("grep")
                && warning.contains("1 times")
                && warning.contains("ends this iteration")
        );
        let Repetition::Doomed(ending) = doom.look(&call("grep", "{}")) else {
            panic!()
        };
        assert!(
            ending.contains("grep") && ending.contains("2 times"),
            "{ending}"
        );
    }

    fn calls() -> impl Strategy<Value = Vec<Vec<Call>>> {
        let arguments = prop_oneof![
            Just(r#"{"a":1,"b":2}"#),
            Just(r#"{"b":2, "a":1}"#),
            Just("{"),
            Just("")
        ];
        let one = ("[rw]", arguments).prop_map(|(name, arguments)| call(&name, arguments));
        proptest::collection::vec(proptest::collection::vec(one, 0..4), 0..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn a_resumed_conversation_stands_where_it_stood(replies in calls(), threshold in 0..5u32) {
            let mut history = History::default();
            let mut live = Doom::of(&history, threshold);
            for reply in &replies {
                for call in reply {
                    live.look(call);
                }
                history.steps.push(step(reply));
                prop_assert_eq!(&Doom::of(&history, threshold), &live);
            }
        }

        #[test]
        fn no_run_goes_past_one_more_than_the_threshold(replies in calls(), threshold in 1..5u32) {
            let mut doom = Doom::of(&History::default(), threshold);
            let mut run: Vec<(String, Input)> = Vec::new();
            for call in replies.iter().flatten() {
                if run.last().is_some_and(|last| !is_same(last, call)) {
                    run.clear();
                }
                run.push(key_of(call));
                let verdict = doom.look(call);
                let (times, threshold) = (run.len(), threshold as usize);
                prop_assert_eq!(verdict == Repetition::Fine, times < threshold);
                prop_assert_eq!(matches!(verdict, Repetition::Warned(_)), times == threshold);
            }
        }
    }
}
