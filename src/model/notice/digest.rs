//! What is said by the digest, and how a message that was stored is read again, whichever kind it is.

use super::{Message, Occasion};
use crate::model::shorten::head;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A title is read on a phone.
const MAX_TITLE_BYTES: usize = 200;
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// The digest, ready to be posted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DigestMessage {
    #[serde(rename = "type")]
    pub kind: String,
    /// RFC 3339.
    pub timestamp: String,
    #[serde(rename = "data")]
    pub facts: DigestFacts,
}

/// What it tells: in a line, in words, and all of it for programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DigestFacts {
    pub headline: String,
    pub text: String,
    pub digest: Json,
}

impl DigestMessage {
    pub fn new(timestamp: String, headline: &str, text: &str, digest: Json) -> Self {
        Self {
            kind: Occasion::Digest.message_type().to_owned(),
            timestamp,
            facts: DigestFacts {
                headline: head(headline, MAX_TITLE_BYTES).to_owned(),
                text: head(text, MAX_TEXT_BYTES).to_owned(),
                digest,
            },
        }
    }
}

/// A message of either kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    Session(Box<Message>),
    Digest(DigestMessage),
}

impl Told {
    /// Reads what was stored for an occasion.
    pub fn read(occasion: Occasion, body: &str) -> serde_json::Result<Self> {
        Ok(match occasion {
            Occasion::Digest => Self::Digest(serde_json::from_str(body)?),
            _ => Self::Session(Box::new(serde_json::from_str(body)?)),
        })
    }

    /// One line.
    pub fn title(&self) -> String {
        match self {
            Self::Session(message) => message.title(),
            Self::Digest(message) => format!("ralphd: {}", message.facts.headline),
        }
    }

    /// What a person wants to know.
    pub fn text(&self) -> String {
        match self {
            Self::Session(message) => message.text(),
            Self::Digest(message) => message.facts.text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_stored_digest_reads_as_it_was() {
        let message = DigestMessage::new(
            "2026-11-16T07:00:00Z".to_owned(),
            "1 ended: 1 verified",
            "long",
            json!({"verified": {"count": 1}}),
        );
        let body = serde_json::to_string(&message).unwrap();
        let told = Told::read(Occasion::Digest, &body).unwrap();
        assert_eq!(told, Told::Digest(message));
        assert_eq!(told.title(), "ralphd: 1 ended: 1 verified");
        assert_eq!(told.text(), "long");
        assert!(
            Told::read(Occasion::Ended, &body)
                .is_ok_and(|told| told != Told::read(Occasion::Digest, &body).unwrap())
        );
    }
}
