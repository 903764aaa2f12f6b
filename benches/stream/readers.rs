//! Throughput of the stream readers, in MB/s, beside bare line splitting of the same bytes in the same run.

use std::hint::black_box;
use std::time::Instant;

use jiff::tz::TimeZone;
use ralphd::agent::stream::{Ending, Format, Stream};

const STREAM_BYTES: usize = 64 * 1024 * 1024;
const CHUNK_BYTES: usize = 64 * 1024;
const ROUNDS: usize = 5;
/// What a reader has to manage on one core, whatever the lines are.
const LEAST_RATE: f64 = 300.0;

/// Lines of real runs, and made-up long ones: a file that was read, a growing answer.
fn mixed(sample: &str, made_up: &[String]) -> Vec<u8> {
    let mut stream = Vec::with_capacity(STREAM_BYTES + 1024 * 1024);
    while stream.len() < STREAM_BYTES {
        for text in std::iter::once(sample).chain(made_up.iter().map(String::as_str)) {
            stream.extend_from_slice(text.as_bytes());
            stream.push(b'\n');
        }
    }
    stream
}

fn file_of(lines: usize) -> String {
    "    let value = compute(\\\"name\\\", 42);\\n".repeat(lines)
}

/// For each format the lines of a real run, and made-up long ones of the same tool.
fn streams() -> Vec<(Format, &'static str, Vec<String>)> {
    let file = file_of(1_000);
    let claude = vec![
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"t","type":"tool_result","content":"{file}"}}]}},"tool_use_result":{{"stdout":"{file}"}}}}"#
        ),
        format!(
            r#"{{"type":"assistant","message":{{"id":"m","role":"assistant","content":[{{"type":"text","text":"{}"}}]}}}}"#,
            file_of(50)
        ),
    ];
    let codex = format!(
        r#"{{"type":"item.completed","item":{{"id":"i","type":"command_execution","command":"cat","aggregated_output":"{file}","exit_code":0,"status":"completed"}}}}"#
    );
    let gemini =
        format!(r#"{{"type":"tool_result","tool_id":"t","status":"success","output":"{file}"}}"#);
    let pi = (1..40).map(|count| {
        format!(
            r#"{{"type":"message_update","message":{{"role":"assistant","content":[{{"type":"text","text":"{}"}}]}}}}"#,
            file_of(count)
        )
    });
    let opencode = format!(
        r#"{{"type":"tool_use","sessionID":"s","part":{{"type":"tool","tool":"read","callID":"c","state":{{"status":"completed","input":{{}},"output":"{file}"}}}}}}"#
    );
    vec![
        (
            Format::Claude,
            include_str!("../../tests/samples/claude-stream-tool.jsonl"),
            claude.clone(),
        ),
        (
            Format::Codex,
            include_str!("../../tests/samples/codex-tool-bypass.jsonl"),
            vec![codex],
        ),
        (
            Format::Gemini,
            include_str!("../../tests/samples/gemini-stream-tool.jsonl"),
            vec![gemini],
        ),
        (
            Format::Opencode,
            include_str!("../../tests/samples/opencode-tool.jsonl"),
            vec![opencode],
        ),
        (
            Format::Pi,
            include_str!("../../tests/samples/pi-tool.jsonl"),
            pi.collect(),
        ),
        (
            Format::Qwen,
            include_str!("../../tests/samples/qwen-stream-tool.jsonl"),
            claude,
        ),
        (
            Format::Text,
            include_str!("../../tests/samples/aider-ok.txt"),
            vec![file],
        ),
    ]
}

/// The best of some rounds, in MB/s.
fn rate(bytes: usize, mut run: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    bytes as f64 / 1e6 / best
}

fn read_rate(format: Format, stream: &[u8]) -> f64 {
    let ending = Ending {
        exit_code: Some(0),
        signal: None,
        timed_out: false,
        silent: false,
        stderr_tail: "",
        now_ms: 0,
        time_zone: &TimeZone::UTC,
    };
    rate(stream.len(), || {
        let mut reader = Stream::new(format);
        for chunk in stream.chunks(CHUNK_BYTES) {
            reader.feed(chunk);
            black_box(reader.take_tool_calls());
        }
        black_box(reader.finish(&ending));
    })
}

/// One line a format; `only` one of them, where it is named.
pub fn measure(only: Option<&str>) {
    println!(
        "MB/s       {:>12} {:>12} {:>12}",
        "mixed", "short lines", "splitting"
    );
    for (format, sample, long) in streams() {
        if only.is_some_and(|only| only != format.to_string()) {
            continue;
        }
        let stream = mixed(sample, &long);
        let (read, short) = (
            read_rate(format, &stream),
            read_rate(format, &mixed(sample, &[])),
        );
        let split = rate(stream.len(), || {
            black_box(memchr::memchr_iter(b'\n', &stream).count());
        });
        let verdict = match read.min(short) >= LEAST_RATE {
            true => "ok",
            false => "MISSED",
        };
        println!(
            "{format:<10} {read:>12.0} {short:>12.0} {split:>12.0}   (>= {LEAST_RATE})   {verdict}"
        );
    }
}
