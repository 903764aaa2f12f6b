//! What the built-in loop adds to a model, step by step: a server that answers at once, the time between the end of its answer and
//! its next question, and the memory of a long conversation.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use support::daemon::BINARY;
use support::{bound, millis, note, percentile, place};

const STEPS: usize = 100;
const MAX_STEP_MS: f64 = 2.0;
/// Each result of the long conversation, so that all of them come to a megabyte.
const LONG_RESULT_BYTES: usize = 10_000;
const MAX_RSS_MIB: f64 = 40.0;

fn main() {
    for dialect in ["anthropic", "openai"] {
        let (gaps, _) = converse(dialect, 40);
        let (long_gaps, peak_mib) = converse(dialect, LONG_RESULT_BYTES);
        let median = |mut gaps: Vec<Duration>| millis(percentile(&mut gaps, 0.5));
        bound(
            &format!("steps: {dialect}, per step, median"),
            median(gaps),
            "ms",
            MAX_STEP_MS,
        );
        note(
            &format!("steps: {dialect}, the same, growing to 1 MB"),
            &format!("{:.3} ms", median(long_gaps)),
        );
        bound(
            &format!("steps: {dialect}, 100 steps of 1 MB, RSS"),
            peak_mib,
            "MiB",
            MAX_RSS_MIB,
        );
    }
}

/// Holds a conversation whose every step reads a file of so many bytes; the gaps between answers and questions, and the most
/// memory that the agent's process had.
fn converse(dialect: &'static str, bytes: usize) -> (Vec<Duration>, f64) {
    let place = place();
    let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
    let address = listener.local_addr().expect("an address");
    let (tell, told) = channel();
    let server = std::thread::spawn(move || serve(&listener, dialect, &tell));
    let line = "w".repeat(99);
    let text: String = (0..bytes.div_ceil(100))
        .map(|_| format!("{line}\n"))
        .collect();
    let workspace = place.path().join("state/workspaces/session/bench");
    std::fs::create_dir_all(&workspace).expect("make the workspace");
    for step in 0..STEPS {
        std::fs::write(workspace.join(format!("{step}.txt")), &text).expect("write a file");
    }
    let config = place.path().join("ralphd.toml");
    let path = if dialect == "openai" { "/v1" } else { "" };
    std::fs::write(
        &config,
        format!(
            "[log]\nlevel = \"error\"\n[agents.bench]\nkind = \"builtin\"\nprovider = \"{dialect}\"\nmodel = \"bench\"\nbase_url = \"http://{address}{path}\"\nmax_steps = 1000\nmax_tool_calls = 1000\ncontext_window = 10000000\n"
        ),
    )
    .expect("write the configuration");
    std::fs::write(
        place.path().join("request.md"),
        "---\nworkspace: { session: bench }\n---\nRead everything.\n",
    )
    .expect("write the request");
    let status = Command::new(BINARY)
        .args(["run", "--file", "request.md", "--quiet", "--config"])
        .arg(&config)
        .arg("--state")
        .arg(place.path().join("state"))
        .current_dir(place.path())
        .stdout(Stdio::null())
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the conversation failed"
    );
    drop(server);
    collect(&told)
}

fn collect(told: &Receiver<(Duration, f64)>) -> (Vec<Duration>, f64) {
    let all: Vec<(Duration, f64)> = told.try_iter().collect();
    let peak = all.iter().map(|(_, mib)| *mib).fold(0.0, f64::max);
    (all.into_iter().map(|(gap, _)| gap).collect(), peak)
}

/// Answers on one connection after the other, without reading what it is asked.
fn serve(listener: &TcpListener, dialect: &str, tell: &Sender<(Duration, f64)>) {
    let mut step = 0;
    let mut answered: Option<Instant> = None;
    while let Ok((stream, _)) = listener.accept() {
        stream.set_nodelay(true).expect("no delay");
        let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
        let mut writer = stream;
        while take_question(&mut reader) {
            if let Some(answered) = answered {
                let peak = if step % 10 == 0 { peak_mib() } else { 0.0 };
                let _ = tell.send((answered.elapsed(), peak));
            }
            answer(&mut writer, dialect, step);
            answered = Some(Instant::now());
            step += 1;
        }
        if step > STEPS {
            return;
        }
    }
}

fn take_question(reader: &mut BufReader<TcpStream>) -> bool {
    let mut length = 0;
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(0) | Err(_) => return false,
            Ok(_) if line == "\r\n" => break,
            Ok(_) => {}
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).is_ok()
}

fn answer(writer: &mut TcpStream, dialect: &str, step: usize) {
    let body = match (dialect, step < STEPS) {
        ("anthropic", true) => anthropic_call(step),
        ("anthropic", false) => anthropic_words("Done.\\n\\nTASK_COMPLETE"),
        (_, true) => openai(
            &format!(
                r#"{{"tool_calls":[{{"index":0,"id":"call_{step}","type":"function","function":{{"name":"read","arguments":"{{\"path\":\"{step}.txt\"}}"}}}}]}}"#
            ),
            "tool_calls",
        ),
        (_, false) => openai(r#"{"content":"Done.\n\nTASK_COMPLETE"}"#, "stop"),
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let _ = writer.write_all(format!("{head}{body}").as_bytes());
}

fn anthropic(block: &str, delta: &str, stop: &str) -> String {
    let events = [
        (
            "message_start",
            r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"bench","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}"#.to_owned(),
        ),
        (
            "content_block_start",
            format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#),
        ),
        (
            "content_block_delta",
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#),
        ),
        ("content_block_stop", r#"{"type":"content_block_stop","index":0}"#.to_owned()),
        (
            "message_delta",
            format!(
                r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop}"}},"usage":{{"output_tokens":5}}}}"#
            ),
        ),
        ("message_stop", r#"{"type":"message_stop"}"#.to_owned()),
    ];
    let write = |(name, text): &(&str, String)| format!("event: {name}\ndata: {text}\n\n");
    events.iter().map(write).collect()
}

fn anthropic_call(step: usize) -> String {
    anthropic(
        &format!(r#"{{"type":"tool_use","id":"call_{step}","name":"read","input":{{}}}}"#),
        &format!(r#"{{"type":"input_json_delta","partial_json":"{{\"path\":\"{step}.txt\"}}"}}"#),
        "tool_use",
    )
}

fn anthropic_words(words: &str) -> String {
    anthropic(
        r#"{"type":"text","text":""}"#,
        &format!(r#"{{"type":"text_delta","text":"{words}"}}"#),
        "end_turn",
    )
}

fn openai(delta: &str, finish: &str) -> String {
    let chunk = |choices: &str, usage: &str| {
        format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"bench\",\"choices\":[{choices}]{usage}}}\n\n"
        )
    };
    let choice = |delta: &str, finish: &str| {
        format!(r#"{{"index":0,"delta":{delta},"finish_reason":{finish}}}"#)
    };
    [
        chunk(&choice(delta, "null"), ""),
        chunk(&choice("{}", &format!("\"{finish}\"")), ""),
        chunk("", r#","usage":{"prompt_tokens":10,"completion_tokens":5}"#),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}

/// The most memory that a conversing process has had.
fn peak_mib() -> f64 {
    let processes = std::fs::read_dir("/proc").expect("read /proc").flatten();
    let peaks = processes.filter_map(|process| {
        let words = std::fs::read(process.path().join("cmdline")).ok()?;
        let conversing = String::from_utf8_lossy(&words).contains("\0converse\0");
        let status = std::fs::read_to_string(process.path().join("status")).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: f64 = line.trim().trim_end_matches(" kB").parse().ok()?;
        conversing.then_some(kib / 1024.0)
    });
    peaks.fold(0.0, f64::max)
}
