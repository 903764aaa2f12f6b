//! A person's answer, and as what it may come: `*.answer.md` or `*.answer.json` in an inbox. At a gate it is a yes, or a no with a reason.

use crate::clock::now_ms;
use crate::model::gate::{self, GateStep};
use crate::store::Store;
use crate::store::driver::Sql;
use crate::store::humans::{HumanKind, NoAnswer};
use crate::store::{deliveries, humans, sessions};
use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// Where an answer that counts once is remembered to be from.
const FROM_INBOX: &str = "inbox";

/// Whom the answer is for, and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    pub session: String,
    pub answer: String,
    /// The id of the question; left out, it is for whatever is asked.
    #[serde(default)]
    pub question: Option<String>,
}

/// Whether a file of this name is an answer.
pub fn is_answer(name: &str) -> bool {
    name.ends_with(".answer.md") || name.ends_with(".answer.json")
}

/// Reads an answer: JSON with `session` and `answer`, or text whose first line is `session: <id>`.
pub fn parse(name: &str, text: &str) -> Result<Answer> {
    let answer = match name.ends_with(".json") {
        true => serde_json::from_str(text)
            .context("an answer is a JSON object with `session` and `answer`")?,
        false => from_text(text)?,
    };
    if answer.answer.trim().is_empty() {
        bail!("the answer is empty");
    }
    Ok(answer)
}

fn from_text(text: &str) -> Result<Answer> {
    let text = text.trim_start_matches('\u{feff}');
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let session = first
        .trim()
        .strip_prefix("session:")
        .context("line 1: an answer starts with the line `session: <id>`")?;
    Ok(Answer {
        session: session.trim().to_owned(),
        answer: rest.trim().to_owned(),
        question: None,
    })
}

/// Gives the answer to the session that waits for it; returns the session's id. A number picks an option.
pub async fn give(store: &Store, answer: Answer) -> Result<String> {
    store.write(move |sql| settle(sql, &answer)).await
}

/// The same for what lay in an inbox. After a crash the entry may come again, when something else may be asked: it counts once.
pub async fn give_once(store: &Store, answer: Answer, entry: &str) -> Result<String> {
    let key = format!("entry:{entry}");
    store
        .write(move |sql| {
            deliveries::once(sql, FROM_INBOX, &key, now_ms(), |sql| settle(sql, &answer))
        })
        .await
}

/// The same within a transaction.
pub fn settle(sql: &mut dyn Sql, answer: &Answer) -> Result<String> {
    let id = sessions::resolve(sql, &answer.session)?;
    humans::expect_asked(sql, &id, answer.question.as_deref())?;
    let asked = humans::waiting(sql, &id)?;
    let options = asked.as_ref().map(|asked| asked.options.as_slice());
    let words = pick(&answer.answer, options.unwrap_or_default());
    let at_ms = now_ms();
    match asked.filter(|asked| asked.kind == HumanKind::Gate) {
        None => humans::answer(sql, &id, &words, at_ms)?,
        Some(_) => match at_gate(&words) {
            Some((GateStep::Approve, _)) => humans::approve(sql, &id, at_ms)?,
            Some((GateStep::Reject, reason)) => {
                humans::reject(sql, &id, reason, at_ms)?;
            }
            _ => bail!(NoAnswer),
        },
    }
    Ok(id)
}

/// A plain yes, or a no and its reason. A yes with conditions is neither: nobody would keep to them.
fn at_gate(words: &str) -> Option<(GateStep, Option<&str>)> {
    let end = words.find(|letter: char| letter.is_whitespace() || ".,:;!".contains(letter));
    let (first, rest) = words.split_at(end.unwrap_or(words.len()));
    let rest = rest
        .trim_start_matches(|letter: char| letter.is_whitespace() || ".,:;!-–—".contains(letter));
    match (gate::word(first)?, rest.trim_end()) {
        (step, "") => Some((step, None)),
        (GateStep::Reject, reason) => Some((GateStep::Reject, Some(reason))),
        _ => None,
    }
}

/// The words of an option are that option, also where they are a number.
fn pick(answer: &str, options: &[String]) -> String {
    let words = answer.trim();
    let is_one = options.iter().any(|option| option.trim() == words);
    let number = words.parse::<usize>().ok().filter(|_| !is_one);
    let picked = number.and_then(|number| options.get(number.checked_sub(1)?));
    picked.map_or(words, String::as_str).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_as_text_and_json() {
        let expected = Answer {
            session: "0199".to_owned(),
            answer: "the blue one\nplease".to_owned(),
            question: None,
        };
        assert_eq!(
            parse("x.answer.md", "session: 0199\n\nthe blue one\nplease\n").unwrap(),
            expected
        );
        let json = r#"{"session": "0199", "answer": "the blue one\nplease"}"#;
        assert_eq!(parse("x.answer.json", json).unwrap(), expected);
        for (text, reason) in [
            ("blue", "line 1"),
            ("session: 1\n  \n", "empty"),
            ("", "line 1"),
        ] {
            assert!(
                parse("x.answer.md", text)
                    .unwrap_err()
                    .to_string()
                    .contains(reason),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_yes_or_a_no_at_a_gate() {
        use GateStep::{Approve, Reject};
        for (words, expected) in [
            ("approve", Some((Approve, None))),
            ("Yes.", Some((Approve, None))),
            ("reject", Some((Reject, None))),
            (
                "reject\n\nnot on a Friday",
                Some((Reject, Some("not on a Friday"))),
            ),
            ("no, use the copy", Some((Reject, Some("use the copy")))),
            ("reject: too dear", Some((Reject, Some("too dear")))),
            ("yes, but only the first", None),
            ("nothing of that", None),
            ("the blue one", None),
            ("", None),
        ] {
            assert_eq!(at_gate(words), expected, "{words:?}");
        }
    }

    #[test]
    fn numbers_pick_options() {
        let options = ["red".to_owned(), "blue".to_owned()];
        for (answer, picked) in [
            ("2", "blue"),
            ("3", "3"),
            ("0", "0"),
            ("red", "red"),
            (" 1 ", "red"),
        ] {
            assert_eq!(pick(answer, &options), picked);
        }
        let counts = ["0", "2", "10"].map(str::to_owned);
        for (answer, picked) in [
            ("0", "0"),
            ("2", "2"),
            (" 10 ", "10"),
            ("1", "0"),
            ("3", "10"),
        ] {
            assert_eq!(pick(answer, &counts), picked);
        }
    }
}
