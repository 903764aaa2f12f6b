//! Reads the machine-readable output of agent tools: bytes in, a report out. It must not do any input or output, read a clock or
//! know who runs the tool. The next tool is one small file here, one word of `Format` and one entry in `model::preset`.

mod calls;
mod classify;
mod claude;
mod cline;
mod cn;
mod codex;
mod copilot;
mod document;
mod droid;
mod exit;
mod gemini;
mod json;
mod lines;
mod messages;
mod opencode;
mod pi;
mod qwen;
pub mod ralphd;
mod reset;
mod sheet;
mod text;

use std::borrow::Cow;

use jiff::tz::TimeZone;

pub use crate::model::preset::Format;
pub use calls::ToolCall;
pub use classify::classify_text;
pub(in crate::agent) use classify::{DETAIL_MAX_BYTES, classify_status};
pub(in crate::agent) use reset::{reset_from_text, wait_ms};
pub(in crate::agent) use sheet::one_line;

use crate::model::conversation::StepUsage;
use crate::model::failure::{Failure, FailureClass};
use exit::Said;
use lines::Lines;
use sheet::Sheet;

impl Format {
    fn reader(self) -> Box<dyn Reader + Send> {
        match self {
            Self::Text => Box::<text::Text>::default(),
            Self::Claude => Box::<claude::Claude>::default(),
            Self::Codex => Box::<codex::Codex>::default(),
            Self::Gemini => Box::<gemini::Gemini>::default(),
            Self::Opencode => Box::<opencode::Opencode>::default(),
            Self::Pi => Box::<pi::Pi>::default(),
            Self::Qwen => Box::<qwen::Qwen>::default(),
            Self::Copilot => Box::<copilot::Copilot>::default(),
            Self::Cline => Box::<cline::Cline>::default(),
            Self::Droid => Box::<droid::Droid>::default(),
            Self::Cn => Box::<cn::Cn>::default(),
            Self::Ralphd => Box::<ralphd::Ralphd>::default(),
        }
    }
}

/// What a stream said, so far or at its end.
///
/// `input_tokens` means the same for every tool: all that went to the model, tokens read from and written to a cache counted in;
/// `cached_tokens` is the part that was read from a cache; `output_tokens` counts reasoning in. The tools count differently:
/// claude, droid, pi and opencode leave cached tokens out of their input (they are added here), codex, gemini, qwen and cline count
/// them in. Sums over the whole turn, the tool's own side requests included where it reports them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The last assistant message only; at most 256 KiB, its end kept.
    pub final_text: String,
    /// All tokens that went in, cached ones included.
    pub input_tokens: Option<u64>,
    /// All tokens that came out.
    pub output_tokens: Option<u64>,
    /// The part of the input that came out of a cache.
    pub cached_tokens: Option<u64>,
    /// The part of the input that was put into a cache, where that has a price of its own.
    pub cache_written_tokens: Option<u64>,
    /// The cost by the tool's own price list.
    pub cost_usd: Option<f64>,
    /// Turns with the model, as the tool counts them.
    pub turns: Option<u64>,
    /// Tool calls that began.
    pub tool_call_count: u64,
    /// The tool's name for its own session.
    pub agent_session_id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The tool stopped at a limit of its own (turns, money, tool calls): nothing failed, and the work is not done. Such a turn
    /// counts even where its final text is empty.
    pub unfinished: bool,
    /// It repeated itself, and was stopped by its own guard against that.
    pub doom_loop: bool,
    /// Remarks for people: permission denials, loops, limits of the tool's own; at most 20.
    pub warnings: Vec<String>,
    /// Why the turn failed, if it did; only known at the end.
    pub failure: Option<Failure>,
}

/// One reply of the model and what it used.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport {
    /// Its place in the turn, from 1.
    pub number: u32,
    pub model: Option<String>,
    pub usage: StepUsage,
}

/// How the process ended.
pub struct Ending<'a> {
    /// The exit code, where it exited.
    pub exit_code: Option<i32>,
    /// The signal, where it died of one.
    pub signal: Option<i32>,
    /// We ended it because its time was over.
    pub timed_out: bool,
    /// We ended it because nothing was heard of it.
    pub silent: bool,
    /// The end of its stderr.
    pub stderr_tail: &'a str,
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
    /// The zone the tool ran in: some name a reset as a local clock time.
    pub time_zone: &'a TimeZone,
}

/// The reader of one tool.
trait Reader {
    /// One line of stdout, without line end.
    fn line(&mut self, line: &str, sheet: &mut Sheet);

    /// What the stream says about its end.
    fn said(&mut self, ending: &Ending<'_>, sheet: &mut Sheet) -> Said;

    /// What the tool's own exit codes mean.
    fn exit_meaning(&self) -> fn(i32) -> Option<FailureClass> {
        |_| None
    }
}

/// One tool's stdout, read while it runs.
pub struct Stream {
    lines: Lines,
    reader: Box<dyn Reader + Send>,
    sheet: Sheet,
}

impl Stream {
    /// A stream of which nothing has been read.
    pub fn new(format: Format) -> Self {
        Self {
            lines: Lines::default(),
            reader: format.reader(),
            sheet: Sheet::default(),
        }
    }

    /// Takes the next bytes, however they were cut.
    pub fn feed(&mut self, chunk: &[u8]) {
        let Self {
            lines,
            reader,
            sheet,
        } = self;
        lines.feed(chunk, &mut |line| read_line(line, reader.as_mut(), sheet));
    }

    /// The report so far; its usage is a lower bound until the end.
    pub fn report(&self) -> &Report {
        &self.sheet.report
    }

    /// The tool calls that ended since the last time this was asked.
    pub fn take_tool_calls(&mut self) -> Vec<ToolCall> {
        self.sheet.calls.take_done()
    }

    /// The steps since the last time this was asked, where the stream tells of steps.
    pub fn take_steps(&mut self) -> Vec<StepReport> {
        std::mem::take(&mut self.sheet.steps)
    }

    /// The tool calls that began and have not ended: of a turn that hung, the culprit.
    pub fn take_open_tool_calls(&mut self) -> Vec<ToolCall> {
        self.sheet.calls.take_open()
    }

    /// Ends the stream and judges it.
    pub fn finish(self, ending: &Ending<'_>) -> Report {
        let Self {
            mut lines,
            mut reader,
            mut sheet,
        } = self;
        lines.finish(&mut |line| read_line(line, reader.as_mut(), &mut sheet));
        if lines.skipped() > 0 {
            sheet.warn(&format!(
                "{} lines over 16 MiB were skipped",
                lines.skipped()
            ));
        }
        let said = reader.said(ending, &mut sheet);
        sheet.report.unfinished = matches!(said, Said::Unfinished);
        sheet.close(matches!(said, Said::Complete));
        let failure = exit::verdict(said, ending, reader.exit_meaning(), &mut sheet);
        Report {
            failure,
            ..sheet.report
        }
    }
}

fn read_line(line: &[u8], reader: &mut dyn Reader, sheet: &mut Sheet) {
    let line: Cow<'_, str> = match std::str::from_utf8(line) {
        Ok(line) => Cow::Borrowed(line),
        Err(_) => String::from_utf8_lossy(line),
    };
    reader.line(&line, sheet);
}
