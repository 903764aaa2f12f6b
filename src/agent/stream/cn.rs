//! Continue's `cn`, `--format json`: one object, on one line or on many. No usage, no tool calls.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::document::Document;
use super::exit::{Said, failed};
use super::json::{Leaf, event, head};
use super::sheet::Sheet;
use super::{Ending, Reader};

const ERROR_MAX_BYTES: usize = 4 * 1024;

#[derive(Default)]
pub(super) struct Cn {
    document: Document,
    answered: bool,
    error: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer<'a> {
    #[serde(borrow)]
    response: Leaf<'a>,
    #[serde(borrow)]
    status: Leaf<'a>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Reader for Cn {
    fn line(&mut self, line: &str, sheet: &mut Sheet) {
        let document = self.document.line(line);
        let Some(answer) = event::<Answer>(document.as_deref().unwrap_or(line)) else {
            return;
        };
        match answer.status.text() {
            "" => {}
            "error" => {
                self.answered = false;
                self.error = Some(head(answer.message.or(answer.error), ERROR_MAX_BYTES));
            }
            _ => {
                self.answered = true;
                sheet.say(answer.response.text());
            }
        }
    }

    fn said(&mut self, ending: &Ending<'_>, _: &mut Sheet) -> Said {
        match self.error.take() {
            _ if self.answered => Said::Complete,
            Some(error) => Said::Failed(failed(None, &error, ending)),
            None => Said::Incomplete,
        }
    }
}
