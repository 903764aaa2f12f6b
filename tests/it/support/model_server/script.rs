//! What the server does with one request when it plays a script instead of scenes: an answer of the model, or any of the ways in
//! which servers fail. It must not know the dialects: each writes the same play in its own words.

use super::Tokens;
use super::play::Reply;
use serde_json::{Value as Json, json};

/// What is done with one request.
#[derive(Clone, Debug)]
pub enum Play {
    /// The model answers.
    Answer(Answer),
    /// Something else than a model answers: a refusal, a proxy, a redirection.
    Document {
        status: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
}

/// An answer of the model.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub reply: Reply,
    /// What it is said to have cost; made up where nothing stands here.
    pub tokens: Option<Tokens>,
    /// Says nothing of what it cost.
    pub hides_usage: bool,
    /// One JSON document, though a stream was asked for.
    pub is_document: bool,
    pub breaks: Option<Break>,
}

/// How an answer goes wrong, after so many of its events.
#[derive(Clone, Debug)]
pub struct Break {
    pub after: usize,
    pub how: How,
}

#[derive(Clone, Debug)]
pub enum How {
    /// The connection breaks.
    Cut,
    /// The stream ends as if it were whole.
    End,
    /// Nothing more comes, and the connection stays open.
    Silence,
    /// This event comes, then the rest.
    Event(String),
}

/// What was asked, as it came over the wire.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Json,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name)?;
        Some(&found.1)
    }
}

impl Play {
    /// The model says something.
    pub fn say(text: &str) -> Self {
        Self::calls(text, &[])
    }

    /// The model calls one tool.
    pub fn call(name: &str, arguments: Json) -> Self {
        Self::calls("", &[(name, arguments)])
    }

    /// The model says something (or nothing) and calls tools. Arguments that are a string go out as they are, JSON or not.
    pub fn calls(text: &str, calls: &[(&str, Json)]) -> Self {
        let written = |arguments: &Json| match arguments {
            Json::String(raw) => raw.clone(),
            other => other.to_string(),
        };
        let calls = calls
            .iter()
            .map(|(name, arguments)| ((*name).to_owned(), written(arguments)));
        Self::Answer(Answer {
            reply: Reply {
                text: text.to_owned(),
                calls: calls.collect(),
                stop: None,
            },
            ..Answer::default()
        })
    }

    /// The server refuses, as both dialects do: `{"error": {"type": …, "message": …}}`.
    pub fn refuse(status: u16, kind: &str, message: &str) -> Self {
        let error = json!({ "type": kind, "message": message });
        Self::document(
            status,
            &json!({ "type": "error", "error": error }).to_string(),
        )
    }

    /// Any status and body.
    pub fn document(status: u16, body: &str) -> Self {
        Self::Document {
            status,
            headers: Vec::new(),
            body: body.to_owned(),
        }
    }

    /// With a header; of documents only.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match &mut self {
            Self::Document { headers, .. } => headers.push((name.to_owned(), value.to_owned())),
            Self::Answer(_) => panic!("an answer has no headers of its own"),
        }
        self
    }

    /// With a reason for its end in the words of the dialect: `max_tokens`, `length`, …
    pub fn stopped_by(self, reason: &'static str) -> Self {
        self.changed(|answer| answer.reply.stop = Some(reason))
    }

    /// At this cost.
    pub fn costing(self, tokens: Tokens) -> Self {
        self.changed(|answer| answer.tokens = Some(tokens))
    }

    /// Says nothing of the cost.
    pub fn without_usage(self) -> Self {
        self.changed(|answer| answer.hides_usage = true)
    }

    /// One JSON document, though a stream was asked for.
    pub fn in_one_document(self) -> Self {
        self.changed(|answer| answer.is_document = true)
    }

    /// The connection breaks after so many events.
    pub fn cut_after(self, events: usize) -> Self {
        self.broken(events, How::Cut)
    }

    /// The stream ends after so many events, as if it were whole.
    pub fn ended_after(self, events: usize) -> Self {
        self.broken(events, How::End)
    }

    /// Nothing comes after so many events, for as long as anybody listens.
    pub fn silent_after(self, events: usize) -> Self {
        self.broken(events, How::Silence)
    }

    /// After so many events something comes that is no JSON.
    pub fn spoilt_after(self, events: usize) -> Self {
        self.broken(
            events,
            How::Event("data: {\"type\": \"conte\n\n".to_owned()),
        )
    }

    /// After so many events the server says that it failed.
    pub fn failing_after(self, events: usize, kind: &str, message: &str) -> Self {
        let error =
            json!({ "type": "error", "error": { "type": kind, "message": message } }).to_string();
        self.broken(
            events,
            How::Event(format!("event: error\ndata: {error}\n\n")),
        )
    }

    fn broken(self, after: usize, how: How) -> Self {
        self.changed(|answer| answer.breaks = Some(Break { after, how }))
    }

    fn changed(mut self, change: impl FnOnce(&mut Answer)) -> Self {
        match &mut self {
            Self::Answer(answer) => change(answer),
            Self::Document { .. } => panic!("a document is sent as it is"),
        }
        self
    }
}
