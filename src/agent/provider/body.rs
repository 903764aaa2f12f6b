//! The body of an answer on its way to a reply: bytes become events or one document, and a dialect reads them. It must not know
//! which dialect, nor where the bytes come from.

use super::sse::{Event, Parser};
use crate::model::conversation::{Reply, StepUsage};
use serde_json::Value as Json;

const MAX_EVENT_BYTES: usize = 16 << 20;
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// What makes a reply of the pieces of an answer, in one dialect.
pub(super) trait Reading: Send {
    fn event(&mut self, event: &Event) -> Result<(), Complaint>;

    /// The whole answer at once.
    fn document(&mut self, document: &Json) -> Result<(), Complaint>;

    /// Whether all of the reply is there, so that a connection that breaks now does no harm.
    fn is_complete(&self) -> bool;

    /// Whether the server said that nothing more comes.
    fn is_over(&self) -> bool;

    /// What the server said so far that the reply has used: of one that broke off that is paid too.
    fn usage(&self) -> StepUsage;

    fn into_reply(self: Box<Self>) -> Reply;
}

/// What is wrong with an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Complaint {
    Malformed(String),
    /// The server itself says that it failed.
    Told(Json),
}

/// The bytes of an answer, whichever of the two forms they turn out to have.
#[derive(Default)]
pub(super) struct Body {
    pub(super) received: usize,
    form: Form,
}

#[derive(Default)]
enum Form {
    #[default]
    Unknown,
    Events(Parser),
    /// Some servers answer so though a stream was asked for.
    Document(Vec<u8>),
}

impl Body {
    /// The next bytes.
    pub(super) fn take(
        &mut self,
        piece: &[u8],
        reading: &mut dyn Reading,
    ) -> Result<(), Complaint> {
        self.received += piece.len();
        if self.received > MAX_ANSWER_BYTES {
            return Err(Complaint::Malformed(format!(
                "the answer is longer than {MAX_ANSWER_BYTES} bytes"
            )));
        }
        if matches!(self.form, Form::Unknown) {
            self.form = match piece.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => return Ok(()),
                Some(b'{') => Form::Document(Vec::new()),
                Some(_) => Form::Events(Parser::new(MAX_EVENT_BYTES)),
            };
        }
        match &mut self.form {
            Form::Unknown => Ok(()),
            Form::Document(bytes) => {
                bytes.extend_from_slice(piece);
                Ok(())
            }
            Form::Events(parser) => {
                let events = parser.feed(piece).map_err(|_| {
                    Complaint::Malformed(format!("an event is longer than {MAX_EVENT_BYTES} bytes"))
                })?;
                events.iter().try_for_each(|event| reading.event(event))
            }
        }
    }

    /// No more bytes come.
    pub(super) fn end(&mut self, reading: &mut dyn Reading) -> Result<(), Complaint> {
        match &mut self.form {
            Form::Unknown => Ok(()),
            Form::Document(bytes) => {
                let document = serde_json::from_slice(bytes).map_err(|error| {
                    Complaint::Malformed(format!("the answer is no JSON: {error}"))
                })?;
                reading.document(&document)
            }
            Form::Events(parser) => match parser.finish() {
                Some(event) if !reading.is_complete() => reading.event(&event),
                _ => Ok(()),
            },
        }
    }
}
