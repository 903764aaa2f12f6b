//! OpenAI's chat completions, which local servers and most others speak too: how a question is written in them, how their stream is
//! read, and which of their words a server has to be spared.

mod reading;
mod request;
mod wording;

use super::endpoint::{Endpoint, chat_url};
use super::http::Line;
use super::trouble::Trouble;
use super::{Provider, Question};
use crate::agent::Pending;
use crate::model::conversation::Reply;
use crate::model::failure::Failure;
use anyhow::Result;
use reading::Completion;
use reqwest::header::AUTHORIZATION;
use std::sync::{Mutex, PoisonError};
use wording::Wording;

/// A model that is spoken with in chat completions.
pub(super) struct OpenAi {
    model: String,
    line: Line,
    /// What this server was found to understand.
    wording: Mutex<Wording>,
}

impl OpenAi {
    pub(super) fn new(model: String, endpoint: Endpoint) -> Result<Self> {
        let url = chat_url(endpoint.base_url.as_deref())?;
        let line = Line::new(url, endpoint, |key| {
            (AUTHORIZATION, format!("Bearer {key}"))
        })?;
        let wording = Mutex::new(Wording::for_host(line.url().host_str().unwrap_or_default()));
        Ok(Self {
            model,
            line,
            wording,
        })
    }

    fn wording(&self) -> Wording {
        *self.wording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next question is asked in the same words, but streamed: this server was mute about this one only.
    fn remember(&self, wording: Wording) {
        *self.wording.lock().unwrap_or_else(PoisonError::into_inner) = Wording {
            stream: true,
            ..wording
        };
    }
}

impl Provider for OpenAi {
    fn reply<'a>(&'a self, question: &'a Question<'a>) -> Pending<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            let mut wording = self.wording();
            // Each change takes a word away or puts another in its place, so this comes to an end.
            loop {
                let otherwise = |trouble: &Trouble| wording.instead(trouble, question);
                let body = request::body(&self.model, question, wording);
                let sent_bytes = request::weight(question);
                let asked = self.line.ask(
                    &body,
                    |trouble| otherwise(trouble).is_some(),
                    || Box::new(Completion::new(sent_bytes)),
                );
                let trouble = match asked.await {
                    Ok(reply) => return Ok(reply),
                    Err(trouble) => trouble,
                };
                match otherwise(&trouble) {
                    Some(instead) => wording = instead,
                    None => return Err(trouble.failure),
                }
                self.remember(wording);
            }
        })
    }
}
