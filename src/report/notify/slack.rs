//! A message for an incoming webhook of Slack or its like. What agents and requests say must not become a mention or a link.

use crate::model::notice::Told;
use crate::model::shorten::head_and_tail;
use serde_json::json;

/// Slack cuts at 4,000 characters.
const MAX_TEXT_BYTES: usize = 3_000;

/// The JSON of a message.
pub(super) fn body(message: &Told) -> String {
    let text = message.text();
    // Before the escapes, so that none of them is cut in two.
    let text = head_and_tail(&text, MAX_TEXT_BYTES);
    let text = format!("{}\n{}", escaped(&message.title()), escaped(&text));
    json!({ "text": text, "mrkdwn": false }).to_string()
}

/// The three characters by which Slack knows mentions and links.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::notice::{Message, MessageFacts, Occasion};

    #[test]
    fn nobody_is_called_by_what_an_agent_says() {
        let facts = MessageFacts {
            status: "completed".to_owned(),
            objective: "<!channel> & <https://evil.example|click>".to_owned(),
            answer: Some("<@U123> &lt;!here&gt; \"quoted\"".to_owned()),
            ..MessageFacts::default()
        };
        let message = Message::new(Occasion::Ended, String::new(), facts);
        let body = body(&Told::Session(Box::new(message)));
        let json: serde_json::Value = serde_json::from_str(&body).unwrap();
        let text = json["text"].as_str().unwrap();
        assert!(!text.contains(['<', '>']), "{text}");
        assert!(text.starts_with("Completed: &lt;!channel&gt; &amp; &lt;https"));
        assert!(text.contains("&lt;@U123&gt; &amp;lt;!here&amp;gt; \"quoted\""));
        assert_eq!(json["mrkdwn"], false);
    }
}
