//! What is said of a session: as JSON in the form that Standard Webhooks recommends, and in words for people. What agents and
//! requests say is data here: it is cut, and made harmless by whoever knows the receiver's markup.

use super::Occasion;
use crate::model::budget::{self, BudgetKind};
use crate::model::id::short;
use crate::model::shorten::head_and_tail;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The whole answer is in the outbox.
const MAX_ANSWER_BYTES: usize = 16 * 1024;
const MAX_QUESTION_BYTES: usize = 4 * 1024;
const MAX_LINE_BYTES: usize = 1024;
/// A title is read on a phone.
const MAX_TITLE_CHARS: usize = 100;

/// A message, ready to be posted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    #[serde(rename = "type")]
    pub kind: String,
    /// When it happened, RFC 3339.
    pub timestamp: String,
    #[serde(rename = "data")]
    pub facts: MessageFacts,
}

/// What it tells of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageFacts {
    pub session_id: String,
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Question>,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parked_until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parked_because: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    pub objective: String,
    pub agent: String,
    pub trigger: String,
    pub origin: String,
    pub labels: BTreeMap<String, String>,
    pub iterations: i64,
    pub max_iterations: i64,
    pub cost_usd: f64,
    pub duration_ms: i64,
}

/// What is put to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub question: String,
    pub options: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The session that the answer goes to: this one, or that of a sub-agent.
    pub answer_to: String,
    /// Whether a yes or no is wanted.
    #[serde(default)]
    pub is_gate: bool,
}

/// A budget that is nearly used up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub kind: BudgetKind,
    pub used: f64,
    pub limit: f64,
}

impl Question {
    /// Reads what the event of a question says.
    pub fn of_event(session: &str, facts: &Json) -> Self {
        let text = |key: &str| {
            facts[key]
                .as_str()
                .map(|text| cut(text, MAX_QUESTION_BYTES))
        };
        let options = facts["options"].as_array().into_iter().flatten();
        Self {
            question: text("question").unwrap_or_default(),
            options: options
                .filter_map(|option| Some(cut(option.as_str()?, MAX_LINE_BYTES)))
                .collect(),
            error: text("error"),
            answer_to: session.to_owned(),
            is_gate: facts["kind"] == "gate",
        }
    }
}

impl Budget {
    /// Reads what the event of a budget says.
    pub fn of_event(facts: &Json) -> Option<Self> {
        serde_json::from_value(facts.clone()).ok()
    }
}

impl Message {
    /// A message about facts, none of them longer than a message may hold.
    pub fn new(occasion: Occasion, timestamp: String, mut facts: MessageFacts) -> Self {
        facts.answer = facts.answer.map(|text| cut(&text, MAX_ANSWER_BYTES));
        facts.end_detail = facts.end_detail.map(|text| cut(&text, MAX_LINE_BYTES));
        facts.parked_because = facts.parked_because.map(|text| cut(&text, MAX_LINE_BYTES));
        facts.objective = cut(&facts.objective, MAX_LINE_BYTES);
        Self {
            kind: occasion.message_type().to_owned(),
            timestamp,
            facts,
        }
    }

    /// One line: how it stands with what.
    pub fn title(&self) -> String {
        let facts = &self.facts;
        let what = match facts.status.as_str() {
            _ if facts.asked.is_some() => "Asks",
            _ if facts.parked_until.is_some() => "Parked",
            _ if facts.budget.is_some() => "Two thirds spent",
            "completed" => match facts.verified.as_deref() {
                Some("verified") => "Verified",
                Some("tampered") => "TAMPERED",
                _ => "Completed",
            },
            "cancelled" => "Cancelled",
            _ => "Failed",
        };
        let title = format!("{what}: {}", one_line(&facts.objective));
        title.chars().take(MAX_TITLE_CHARS).collect()
    }

    /// What a person wants to know, and what they can do about it.
    pub fn text(&self) -> String {
        let facts = &self.facts;
        let id = short(&facts.session_id);
        let mut text = String::new();
        if let Some(asked) = &facts.asked {
            asked.write(&mut text);
        } else if let Some(until) = &facts.parked_until {
            let why = facts.parked_because.as_deref().unwrap_or("no reason given");
            let _ = writeln!(text, "Parked until {until}: {why}");
        } else if let Some(budget) = &facts.budget {
            let spent = budget::in_words(budget.kind, budget.used, budget.limit);
            let _ = writeln!(text, "{spent} are used.");
        } else {
            let reason = facts.end_reason.as_deref().unwrap_or(&facts.status);
            let detail = facts.end_detail.as_deref().map(|why| format!(": {why}"));
            let _ = writeln!(text, "{reason}{}", detail.unwrap_or_default());
            if let Some(answer) = &facts.answer {
                let _ = writeln!(text, "\n{}\n", answer.trim());
            }
        }
        let _ = write!(
            text,
            "{} of {} iterations, {:.2} USD; ralphd show {id}",
            facts.iterations, facts.max_iterations, facts.cost_usd
        );
        text
    }
}

impl Question {
    fn write(&self, text: &mut String) {
        let id = short(&self.answer_to);
        let _ = writeln!(text, "{}", self.question.trim());
        if let Some(error) = &self.error {
            let _ = writeln!(text, "Because: {}", error.trim());
        }
        for (position, option) in self.options.iter().enumerate() {
            let _ = writeln!(text, "[{}] {option}", position + 1);
        }
        let _ = match self.is_gate {
            true => writeln!(text, "ralphd approve {id}, or ralphd reject {id} REASON"),
            false => writeln!(text, "ralphd answer {id} TEXT"),
        };
    }
}

fn cut(text: &str, max_bytes: usize) -> String {
    head_and_tail(text, max_bytes).into_owned()
}

fn one_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim();
    line.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn facts() -> MessageFacts {
        MessageFacts {
            session_id: "0199-abcdef12".to_owned(),
            status: "completed".to_owned(),
            objective: "\n Mend it\nand more".to_owned(),
            iterations: 2,
            max_iterations: 10,
            ..MessageFacts::default()
        }
    }

    fn message(occasion: Occasion, facts: MessageFacts) -> Message {
        Message::new(occasion, "2026-11-16T00:00:00Z".to_owned(), facts)
    }

    #[test]
    fn titles_say_how_it_stands() {
        let asked = Question::of_event("c", &json!({"question": "Blue?", "options": ["yes"]}));
        let budget = Budget {
            kind: BudgetKind::Usd,
            used: 2.0,
            limit: 3.0,
        };
        let with = |change: fn(&mut MessageFacts)| {
            let mut facts = facts();
            change(&mut facts);
            facts
        };
        for (facts, expected) in [
            (facts(), "Completed: Mend it"),
            (
                with(|facts| facts.verified = Some("verified".into())),
                "Verified: Mend it",
            ),
            (
                with(|facts| facts.verified = Some("tampered".into())),
                "TAMPERED: Mend it",
            ),
            (
                with(|facts| facts.status = "failed".into()),
                "Failed: Mend it",
            ),
            (
                with(|facts| facts.parked_until = Some("x".into())),
                "Parked: Mend it",
            ),
            (
                MessageFacts {
                    asked: Some(asked.clone()),
                    ..facts()
                },
                "Asks: Mend it",
            ),
            (
                MessageFacts {
                    budget: Some(budget),
                    ..facts()
                },
                "Two thirds spent: Mend it",
            ),
        ] {
            assert_eq!(message(Occasion::Ended, facts).title(), expected);
        }
    }

    #[test]
    fn a_question_says_how_to_answer_it() {
        let gate =
            json!({"question": "May I?", "options": [], "error": "it is critical", "kind": "gate"});
        let facts = MessageFacts {
            asked: Some(Question::of_event("0199-00000child", &gate)),
            ..facts()
        };
        let text = message(Occasion::AwaitingHuman, facts).text();
        assert_eq!(
            text,
            "May I?\nBecause: it is critical\nralphd approve 000child, or ralphd reject 000child REASON\n2 of 10 iterations, 0.00 USD; ralphd show abcdef12"
        );
    }

    #[test]
    fn json_comes_back_as_it_went_and_long_texts_are_cut() {
        let facts = MessageFacts {
            answer: Some("x".repeat(100_000)),
            asked: Some(Question::of_event("s", &json!({"question": "q"}))),
            ..facts()
        };
        let message = message(Occasion::Ended, facts);
        let text = serde_json::to_string(&message).unwrap();
        assert!(text.len() < 20_000, "{}", text.len());
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
        let json: Json = serde_json::from_str(&text).unwrap();
        assert_eq!(json["type"], "session.ended");
        assert_eq!(json["data"]["question"], "q");
        assert_eq!(json["data"]["answer_to"], "s");
        let plain = json!({"type": "session.ended", "timestamp": "t", "data": {"session_id": "s"}});
        let read: Message = serde_json::from_value(plain).unwrap();
        assert_eq!(read.facts.asked, None);
    }

    #[test]
    fn a_title_is_one_short_line() {
        let facts = MessageFacts {
            objective: format!("a\tb\u{7}{}", "é".repeat(300)),
            ..facts()
        };
        let title = message(Occasion::Ended, facts).title();
        assert_eq!(title.chars().count(), MAX_TITLE_CHARS);
        assert!(title.starts_with("Completed: a b é"), "{title}");
    }
}
