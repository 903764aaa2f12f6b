//! What a reader writes down while a stream runs. It must not know any tool, and everything on it has a maximum.

use super::calls::Calls;
use super::json::cut;
use super::{Report, StepReport};

/// The final text's maximum; its end is kept, where a promise stands.
pub(super) const FINAL_TEXT_MAX_BYTES: usize = 256 * 1024;
const WARNINGS_MAX: usize = 20;
const WARNING_MAX_BYTES: usize = 300;

/// The report so far, and what is needed to go on with it.
#[derive(Default)]
pub(super) struct Sheet {
    pub(super) report: Report,
    pub(super) calls: Calls,
    /// Steps that nobody has taken yet.
    pub(super) steps: Vec<StepReport>,
    superseded: bool,
}

impl Sheet {
    /// A new assistant message: what was said before is no longer the last.
    pub(super) fn say(&mut self, text: &str) {
        self.report.final_text.clear();
        self.say_more(text);
    }

    /// The same assistant message goes on.
    pub(super) fn say_more(&mut self, text: &str) {
        self.superseded = false;
        let from = text.ceil_char_boundary(text.len().saturating_sub(FINAL_TEXT_MAX_BYTES));
        let words = &mut self.report.final_text;
        words.push_str(&text[from..]);
        // Twice the maximum before the front is dropped, so that many small pieces do not each move all of it.
        if words.len() > 2 * FINAL_TEXT_MAX_BYTES {
            keep_end(words);
        }
    }

    /// The agent goes on working: what it said so far were not its final words.
    pub(super) fn work(&mut self) {
        self.superseded = true;
    }

    /// A call of the agent begins.
    pub(super) fn start_call(&mut self, id: &str, name: &str, arguments: &str, at_ms: Option<i64>) {
        self.calls.start(id, name, arguments, at_ms);
        self.report.tool_call_count = self.calls.started();
    }

    /// A remark for people; repeated ones are said once.
    pub(super) fn warn(&mut self, text: &str) {
        let text = one_line(text, WARNING_MAX_BYTES);
        if self.report.warnings.len() < WARNINGS_MAX && !self.report.warnings.contains(&text) {
            self.report.warnings.push(text);
        }
    }

    /// Adds the usage of one step.
    pub(super) fn add_tokens(&mut self, input: u64, output: u64, cached: u64) {
        let report = &mut self.report;
        for (total, more) in [
            (&mut report.input_tokens, input),
            (&mut report.output_tokens, output),
            (&mut report.cached_tokens, cached),
        ] {
            *total = Some(total.unwrap_or(0).saturating_add(more));
        }
    }

    /// Replaces the usage by the tool's own sum.
    pub(super) fn set_tokens(&mut self, input: u64, output: u64, cached: u64) {
        self.report.input_tokens = Some(input);
        self.report.output_tokens = Some(output);
        self.report.cached_tokens = Some(cached);
    }

    /// Ends the final text: words that were followed by work are not final, unless the tool itself ended well after them.
    pub(super) fn close(&mut self, complete: bool) {
        if self.superseded && !complete {
            self.report.final_text.clear();
        }
        keep_end(&mut self.report.final_text);
    }
}

fn keep_end(text: &mut String) {
    let from = text.ceil_char_boundary(text.len().saturating_sub(FINAL_TEXT_MAX_BYTES));
    text.drain(..from);
}

/// A text on one line, white space folded, at most `max_bytes`.
pub(in crate::agent) fn one_line(text: &str, max_bytes: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.len() > max_bytes {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(cut(word, max_bytes));
    }
    if line.len() > max_bytes {
        line = format!("{}…", cut(&line, max_bytes));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_text_is_kept() {
        let mut sheet = Sheet::default();
        for _ in 0..100_000 {
            sheet.say_more("éééé\n");
        }
        sheet.say_more("COMPLETE");
        sheet.close(true);
        assert!(sheet.report.final_text.len() <= FINAL_TEXT_MAX_BYTES);
        assert!(sheet.report.final_text.ends_with("é\nCOMPLETE"));
        sheet.say("new");
        assert_eq!(sheet.report.final_text, "new");
    }

    #[test]
    fn words_before_work_are_not_final() {
        for (complete, expected) in [(false, ""), (true, "said")] {
            let mut sheet = Sheet::default();
            sheet.say("said");
            sheet.work();
            sheet.close(complete);
            assert_eq!(sheet.report.final_text, expected);
        }
    }

    #[test]
    fn warnings_are_few_and_short() {
        let mut sheet = Sheet::default();
        for number in 0..100 {
            sheet.warn(&format!("{} {}", number / 2, "word ".repeat(500)));
        }
        assert_eq!(sheet.report.warnings.len(), WARNINGS_MAX);
        assert!(
            sheet
                .report
                .warnings
                .iter()
                .all(|warning| warning.len() <= WARNING_MAX_BYTES + 3)
        );
    }
}
