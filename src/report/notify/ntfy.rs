//! Push messages by ntfy, in its JSON form: nothing that an agent says becomes a header.

use super::post::Posting;
use crate::config::Target;
use crate::model::address;
use crate::model::notice::{Message, Refusal, Told};
use crate::model::shorten::head_and_tail;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde_json::{Value as Json, json};

/// A longer message becomes an attachment.
const MAX_MESSAGE_BYTES: usize = 3_500;

/// A message for the topic at an address.
pub(super) fn posting(
    url: &str,
    message: &Told,
    target: &Target,
    token: Option<&str>,
) -> Result<Posting, Refusal> {
    let (server, topic) = split(url)?;
    let body = body(&topic, message, target.click.as_deref());
    let mut posting = Posting::new(&server, body.to_string(), target.timeout)?;
    if let Some(token) = token {
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let mut value =
            value.map_err(|_| "the token holds characters that no header can carry".to_owned())?;
        value.set_sensitive(true);
        posting.headers.insert(AUTHORIZATION, value);
    }
    Ok(posting)
}

/// The server, and the topic that its address ends with.
fn split(url: &str) -> Result<(String, String), Refusal> {
    let mut url = address::read(url).map_err(|problem| format!("its address {problem}"))?;
    let topic = url.path_segments().and_then(|mut parts| parts.next_back());
    let topic = topic.unwrap_or_default().to_owned();
    if topic.is_empty() {
        return Err("its address does not end with a topic".to_owned().into());
    }
    if let Ok(mut parts) = url.path_segments_mut() {
        parts.pop().push("");
    }
    Ok((url.to_string(), topic))
}

fn body(topic: &str, message: &Told, click: Option<&str>) -> Json {
    let (priority, tag) = match message {
        Told::Session(message) => urgency(message),
        Told::Digest(_) => (3, "newspaper"),
    };
    let mut body = json!({
        "topic": topic,
        "title": message.title(),
        "message": head_and_tail(&message.text(), MAX_MESSAGE_BYTES),
        "priority": priority,
        "tags": [tag],
    });
    if let (Some(click), Told::Session(message)) = (click, message) {
        body["click"] = json!(click.replace("{id}", &message.facts.session_id));
    }
    body
}

/// How loud it is, and the picture beside it.
fn urgency(message: &Message) -> (u8, &'static str) {
    let facts = &message.facts;
    match facts.status.as_str() {
        _ if facts.asked.is_some() => (4, "question"),
        _ if facts.parked_until.is_some() => (2, "hourglass"),
        _ if facts.budget.is_some() => (3, "moneybag"),
        "completed" if facts.verified.as_deref() == Some("tampered") => (4, "warning"),
        "completed" => (3, "white_check_mark"),
        "cancelled" => (2, "no_entry_sign"),
        _ => (4, "x"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::notice::{MessageFacts, Occasion};

    #[test]
    fn the_topic_is_the_end_of_the_address() {
        for (url, server, topic) in [
            ("https://ntfy.sh/mine", "https://ntfy.sh/", "mine"),
            (
                "http://127.0.0.1:80/push/mine",
                "http://127.0.0.1/push/",
                "mine",
            ),
        ] {
            let split = split(url).unwrap();
            assert_eq!(split, (server.to_owned(), topic.to_owned()));
        }
        assert!(split("https://ntfy.sh/").is_err());
    }

    #[test]
    fn what_agents_say_stays_in_the_body() {
        let facts = MessageFacts {
            session_id: "s-1".to_owned(),
            status: "failed".to_owned(),
            objective: "Mend\r\nX-Evil: 1 é".to_owned(),
            answer: Some("x".repeat(50_000)),
            ..MessageFacts::default()
        };
        let message = Message::new(Occasion::Ended, String::new(), facts);
        let message = Told::Session(Box::new(message));
        let body = body("t", &message, Some("https://a.example/{id}"));
        assert_eq!(body["title"], "Failed: Mend");
        assert_eq!(body["priority"], 4);
        assert_eq!(body["click"], "https://a.example/s-1");
        assert!(body["message"].as_str().unwrap().len() <= MAX_MESSAGE_BYTES);
    }
}
