//! The samples, how each run ended, and what must come out: one table. Exit codes are not in the samples; they are the ones that
//! were seen when the samples were made.

use std::fs;
use std::path::PathBuf;

use jiff::tz::TimeZone;
use ralphd::agent::stream::Format::{self, *};
use ralphd::agent::stream::{Ending, Report, Stream, ToolCall};

pub const DONE: &str = "Work finished.\n<promise>COMPLETE</promise>";
/// 2026-11-16T02:00:00Z, an hour before the resets that the samples name.
const NOW_MS: i64 = 1_794_794_400_000;

/// One sample and what must come out of it.
#[derive(Clone, Default)]
pub struct Case {
    pub file: &'static str,
    pub format: Option<Format>,
    pub exit_code: Option<i32>,
    pub silent: bool,
    pub stderr: String,
    pub text: &'static str,
    pub tokens: Option<(u64, u64)>,
    pub cost: Option<f64>,
    pub calls: u64,
    pub warning: &'static str,
    pub class: Option<&'static str>,
    pub reset_at_ms: Option<i64>,
}

impl Case {
    fn text(mut self, text: &'static str) -> Self {
        self.text = text;
        self
    }

    fn tokens(mut self, input: u64, output: u64) -> Self {
        self.tokens = Some((input, output));
        self
    }

    fn cost(mut self, usd: f64) -> Self {
        self.cost = Some(usd);
        self
    }

    fn calls(mut self, calls: u64) -> Self {
        self.calls = calls;
        self
    }

    fn warns(mut self, warning: &'static str) -> Self {
        self.warning = warning;
        self
    }

    fn fails(mut self, class: &'static str) -> Self {
        self.class = Some(class);
        self
    }

    fn resets(mut self, at_ms: i64) -> Self {
        self.reset_at_ms = Some(at_ms);
        self
    }

    fn stderr(mut self, stderr: impl Into<String>) -> Self {
        self.stderr = stderr.into();
        self
    }

    pub fn format(&self) -> Format {
        self.format.expect("a format")
    }
}

/// It exited by itself.
pub fn exits(file: &'static str, format: Format, exit_code: i32) -> Case {
    Case {
        file,
        format: Some(format),
        exit_code: Some(exit_code),
        ..Case::default()
    }
}

/// It was still retrying in silence, and was ended for it.
fn silent(file: &'static str, format: Format) -> Case {
    Case {
        file,
        format: Some(format),
        silent: true,
        ..Case::default()
    }
    .fails("silence")
}

fn claude() -> Vec<Case> {
    let failed = |file, class| exits(file, Claude, 1).fails(class).tokens(0, 0).cost(0.0);
    vec![
        exits("claude-json-ok.json", Claude, 0)
            .text(DONE)
            .tokens(11_808, 18)
            .cost(0.047592),
        exits("claude-json-denied.json", Claude, 0)
            .text(DONE)
            .tokens(23_769, 76)
            .cost(0.096596)
            .warns("permission denied: Bash"),
        exits("claude-json-empty.json", Claude, 0)
            .tokens(23_645, 14)
            .cost(0.09486),
        exits("claude-json-maxbudget.json", Claude, 1)
            .tokens(35_976, 174)
            .cost(0.14738400000000001)
            .warns("error_max_budget_usd: Reached maximum budget ($0.1)"),
        exits("claude-json-maxturns.json", Claude, 1)
            .tokens(35_869, 174)
            .cost(0.146956)
            .warns("error_max_turns: Reached maximum number of turns (3)"),
        exits("claude-json-refusal.json", Claude, 1)
            .fails("refusal")
            .tokens(23_700, 26)
            .cost(0.09532000000000002),
        failed("claude-json-e400.json", "configuration"),
        failed("claude-json-e401.json", "auth"),
        failed("claude-json-e404.json", "configuration"),
        failed("claude-json-e413.json", "context_overflow"),
        failed("claude-json-toolong.json", "context_overflow"),
        failed("claude-stream-e429.jsonl", "rate_limit"),
        failed("claude-stream-e429+ra=1.jsonl", "rate_limit"),
        failed("claude-stream-quota.jsonl", "rate_limit"),
        failed("claude-stream-e500.jsonl", "overloaded"),
        failed("claude-stream-usagelimit.jsonl", "usage_limit").resets(1_794_797_551_000),
        // SIGINT: no result, and exit code 0 all the same.
        exits("claude-stream-sigint.jsonl", Claude, 0).fails("crash"),
        exits("claude-stream-tool.jsonl", Claude, 0)
            .text(DONE)
            .tokens(23_807, 76)
            .cost(0.096748)
            .calls(1),
    ]
}

fn codex() -> Vec<Case> {
    let failed = |file, class| exits(file, Codex, 1).fails(class);
    let mut cases = vec![
        failed("codex-badsse.jsonl", "network"),
        failed("codex-hang.jsonl", "network"),
        failed("codex-e400.jsonl", "configuration"),
        failed("codex-e401.jsonl", "auth"),
        failed("codex-e404.jsonl", "configuration"),
        failed("codex-e429.jsonl", "rate_limit"),
        failed("codex-e429+ra=1.jsonl", "rate_limit"),
        failed("codex-e500.jsonl", "overloaded"),
        failed("codex-e529.jsonl", "overloaded"),
        failed("codex-quota.jsonl", "usage_limit"),
        failed("codex-toolong.jsonl", "context_overflow"),
        // «2:57 AM» by the local clock: the end of that minute.
        failed("codex-usagelimit.jsonl", "usage_limit").resets(NOW_MS + 58 * 60_000),
        exits("codex-empty.jsonl", Codex, 0).tokens(10_041, 43),
        exits("codex-refusal.jsonl", Codex, 0)
            .text("I can't help with that.")
            .tokens(10_041, 48),
        exits("codex-tool-bypass.jsonl", Codex, 0)
            .text(DONE)
            .tokens(20_258, 160)
            .calls(1),
        exits("codex-tool-default.jsonl", Codex, 0)
            .text(DONE)
            .tokens(20_292, 160)
            .calls(1),
        exits("codex-tool-ww.jsonl", Codex, 0)
            .text(DONE)
            .tokens(20_593, 160)
            .calls(1),
    ];
    for case in &mut cases {
        case.warning = "Model metadata for `gpt-5` not found.";
    }
    cases
}

fn gemini() -> Vec<Case> {
    let stderr = read("gemini-json-e400.stderr.txt");
    vec![
        exits("gemini-json-ok.json", Gemini, 0)
            .text(DONE)
            .tokens(10_605, 24),
        exits("gemini-json-empty.json", Gemini, 0)
            .tokens(47_632, 60)
            .warns("The model returned an empty response"),
        exits("gemini-json-e400.json", Gemini, 144)
            .stderr(stderr.clone())
            .fails("configuration"),
        exits("gemini-json-e401.json", Gemini, 145).fails("auth"),
        // Only the stderr of the 400 was kept; the one of the 404 differed in the number.
        exits("gemini-json-e404.json", Gemini, 1)
            .stderr(stderr.replace("400", "404"))
            .fails("configuration"),
        exits("gemini-json-quota.json", Gemini, 173)
            .stderr("You have exhausted your daily quota on this model.")
            .fails("usage_limit"),
        exits("gemini-stream-e400.jsonl", Gemini, 144)
            .fails("configuration")
            .tokens(0, 0),
        exits("gemini-stream-quota.jsonl", Gemini, 173)
            .fails("usage_limit")
            .tokens(0, 0),
        silent("gemini-stream-e429.jsonl", Gemini),
        silent("gemini-stream-e500.jsonl", Gemini),
        silent("gemini-stream-hang0.jsonl", Gemini),
        // Two answers with nothing between them cannot be told apart; the loop is warned of.
        exits("gemini-stream-maxturns.jsonl", Gemini, 0)
            .text("Running a command.Running a command.")
            .tokens(48_258, 48)
            .calls(4)
            .warns("Loop detected, stopping execution"),
        exits("gemini-stream-tool.jsonl", Gemini, 0)
            .text(DONE)
            .tokens(24_299, 36)
            .calls(1),
    ]
}

fn opencode() -> Vec<Case> {
    vec![
        exits("opencode-tool.jsonl", Opencode, 0)
            .text(DONE)
            .tokens(15_610, 60)
            .cost(0.04773)
            .calls(1),
        exits("opencode-empty.jsonl", Opencode, 0)
            .tokens(7_760, 1)
            .cost(0.023295),
        exits("opencode-e400.jsonl", Opencode, 1).fails("configuration"),
        exits("opencode-e401.jsonl", Opencode, 1).fails("auth"),
        exits("opencode-toolong.jsonl", Opencode, 1).fails("context_overflow"),
        silent("opencode-badsse.jsonl", Opencode),
        silent("opencode-e429.jsonl", Opencode),
        silent("opencode-e500.jsonl", Opencode)
            .stderr("ERROR service=llm error=503 retrying")
            .fails("overloaded"),
        silent("opencode-quota.jsonl", Opencode),
    ]
}

fn pi() -> Vec<Case> {
    let failed = |file, class| exits(file, Pi, 0).fails(class).tokens(0, 0).cost(0.0);
    vec![
        exits("pi-tool.jsonl", Pi, 0)
            .text(DONE)
            .tokens(2_926, 60)
            .cost(0.009678)
            .calls(1),
        exits("pi-empty.jsonl", Pi, 0)
            .tokens(1_419, 1)
            .cost(0.004272000000000001),
        failed("pi-e400.jsonl", "configuration"),
        failed("pi-e401.jsonl", "auth"),
        failed("pi-e429.jsonl", "rate_limit").resets(NOW_MS + 1_000),
        failed("pi-e500.jsonl", "overloaded"),
        failed("pi-quota.jsonl", "usage_limit"),
    ]
}

fn qwen_and_text() -> Vec<Case> {
    vec![
        exits("qwen-json-ok.json", Qwen, 0)
            .text(DONE)
            .tokens(26_297, 22),
        exits("qwen-stream-tool.jsonl", Qwen, 0)
            .text(DONE)
            .tokens(38_391, 71)
            .calls(1),
        exits("qwen-e401.jsonl", Qwen, 1).fails("auth").tokens(0, 0),
        exits("qwen-empty.jsonl", Qwen, 1)
            .fails("other")
            .tokens(95_660, 5),
        silent("qwen-e429.jsonl", Qwen),
        silent("qwen-e500.jsonl", Qwen),
        silent("qwen-quota.jsonl", Qwen),
        exits("aider-ok.txt", Text, 0).text("Tokens: 715 sent, 11 received."),
    ]
}

pub fn cases() -> Vec<Case> {
    [
        claude(),
        codex(),
        gemini(),
        opencode(),
        pi(),
        qwen_and_text(),
    ]
    .concat()
}

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

pub fn read(file: &str) -> String {
    fs::read_to_string(folder().join(file)).expect("a sample")
}

pub fn run<'a>(case: &Case, chunks: impl IntoIterator<Item = &'a [u8]>) -> (Report, Vec<ToolCall>) {
    let mut stream = Stream::new(case.format());
    let mut calls = Vec::new();
    for chunk in chunks {
        stream.feed(chunk);
        calls.extend(stream.take_tool_calls());
    }
    calls.extend(stream.take_open_tool_calls());
    let ending = Ending {
        exit_code: case.exit_code,
        signal: case.silent.then_some(9),
        timed_out: false,
        silent: case.silent,
        stderr_tail: &case.stderr,
        now_ms: NOW_MS,
        time_zone: &TimeZone::UTC,
    };
    (stream.finish(&ending), calls)
}
