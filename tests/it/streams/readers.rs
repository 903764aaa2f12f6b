//! What no sample shows: tools whose output was only described, and the traps of the others, as tables of lines.

use jiff::tz::TimeZone;
use ralphd::agent::stream::Format::{self, *};
use ralphd::agent::stream::{Ending, Report, Stream, ToolCall};

fn read(format: Format, lines: &[&str], exit_code: i32) -> (Report, Vec<ToolCall>) {
    read_until(format, lines, Some(exit_code), false, false)
}

fn read_until(
    format: Format,
    lines: &[&str],
    exit_code: Option<i32>,
    timed_out: bool,
    silent: bool,
) -> (Report, Vec<ToolCall>) {
    let mut stream = Stream::new(format);
    stream.feed(lines.join("\n").as_bytes());
    let calls = stream.take_tool_calls();
    let ending = Ending {
        exit_code,
        signal: exit_code.is_none().then_some(9),
        timed_out,
        silent,
        stderr_tail: "",
        now_ms: 1_794_794_400_000,
        time_zone: &TimeZone::UTC,
    };
    (stream.finish(&ending), calls)
}

fn class(report: &Report) -> Option<&'static str> {
    report
        .failure
        .as_ref()
        .map(|failure| failure.class.as_str())
}

#[test]
fn copilot_is_read() {
    let run = [
        r#"{"type":"session.start","data":{"sessionId":"s1"}}"#,
        r#"{"type":"user.message","data":{"content":"say COMPLETE"}}"#,
        r#"{"type":"assistant.message","data":{"content":"First.","toolRequests":[{"toolCallId":"c"}]}}"#,
        r#"{"type":"tool.execution_start","timestamp":"2026-11-16T02:00:00.000Z","data":{"toolCallId":"c","toolName":"bash","arguments":{"command":"ls"}}}"#,
        r#"{"type":"tool.execution_complete","timestamp":"2026-11-16T02:00:00.250Z","data":{"toolCallId":"c","success":true,"result":{"content":"out"}}}"#,
        r#"{"type":"assistant.message","data":{"content":"Done.","model":"m","toolRequests":[]}}"#,
        r#"{"type":"result","sessionId":"s1","exitCode":0,"usage":{"premiumRequests":1}}"#,
    ];
    let (report, calls) = read(Copilot, &run, 0);
    assert_eq!(
        (
            report.final_text.as_str(),
            class(&report),
            report.tool_call_count
        ),
        ("Done.", None, 1)
    );
    assert_eq!(
        (report.agent_session_id.as_deref(), report.model.as_deref()),
        (Some("s1"), Some("m"))
    );
    assert_eq!(
        (calls[0].duration_ms, calls[0].result.as_str()),
        (Some(250), "out")
    );
    assert_eq!((report.input_tokens, report.cost_usd), (None, None));
    let (cut, _) = read(Copilot, &run[..6], 0);
    assert_eq!(class(&cut), Some("crash"));
    for (error, expected) in [
        (
            r#""errorType":"authentication","message":"no","statusCode":401"#,
            "auth",
        ),
        (
            r#""errorType":"rate_limit","message":"slow down","statusCode":429"#,
            "rate_limit",
        ),
        (
            r#""errorType":"rate_limit","message":"quota exceeded","statusCode":429"#,
            "usage_limit",
        ),
        (
            r#""errorType":"query","message":"boom","statusCode":500"#,
            "overloaded",
        ),
    ] {
        let line = format!(r#"{{"type":"session.error","data":{{{error}}}}}"#);
        let (report, _) = read(
            Copilot,
            &[&line, r#"{"type":"result","sessionId":"s","exitCode":1}"#],
            1,
        );
        assert_eq!(class(&report), Some(expected), "{error}");
    }
    let (empty, _) = read(
        Copilot,
        &[r#"{"type":"result","sessionId":"s","exitCode":1}"#],
        1,
    );
    assert_eq!(class(&empty), Some("other"));
}

#[test]
fn cline_is_read() {
    let run = [
        r#"{"ts":"2026-11-16T02:00:00Z","type":"hook_event","hookEventName":"agent_start","taskId":"t1"}"#,
        r#"{"ts":"2026-11-16T02:00:00Z","type":"agent_event","event":{"type":"content_start","contentType":"tool","toolCallId":"c","toolName":"run_commands","input":{"commands":["ls"]}}}"#,
        r#"{"ts":"2026-11-16T02:00:01Z","type":"agent_event","event":{"type":"content_end","contentType":"tool","toolCallId":"c","toolName":"run_commands","output":[{"result":"hi"}]}}"#,
        r#"{"type":"agent_event","event":{"type":"usage","inputTokens":100,"outputTokens":20,"cacheReadTokens":40}}"#,
        r#"{"type":"run_result","finishReason":"completed","iterations":1,"usage":{"inputTokens":100,"outputTokens":20,"cacheReadTokens":40,"totalCost":0.001},"text":"Done.","model":{"id":"m"}}"#,
    ];
    let (report, calls) = read(Cline, &run, 0);
    assert_eq!(
        (
            report.final_text.as_str(),
            class(&report),
            calls[0].duration_ms
        ),
        ("Done.", None, Some(1_000))
    );
    assert_eq!(
        (report.input_tokens, report.cached_tokens, report.cost_usd),
        (Some(100), Some(40), Some(0.001))
    );
    assert_eq!(
        (report.agent_session_id.as_deref(), report.model.as_deref()),
        (Some("t1"), Some("m"))
    );
    let unpriced = run[4].replace("0.001", "0");
    assert_eq!(read(Cline, &[&unpriced], 0).0.cost_usd, None);
    assert_eq!(class(&read(Cline, &run[..4], 0).0), Some("crash"));
    let refused = r#"{"type":"run_result","finishReason":"error","text":"Unauthorized"}"#;
    let (report, _) = read(Cline, &[refused], 1);
    assert_eq!(
        (class(&report), report.final_text.as_str()),
        (Some("auth"), "")
    );
}

#[test]
fn droid_is_read() {
    let run = [
        r#"{"type":"system","subtype":"init","session_id":"s1","model":"m"}"#,
        r#"{"type":"message","role":"user","text":"say COMPLETE"}"#,
        r#"{"type":"tool_call","id":"c","toolName":"Execute","parameters":{"command":"ls"},"timestamp":1000}"#,
        r#"{"type":"tool_result","id":"c","isError":true,"value":"no","timestamp":1500}"#,
        r#"{"type":"message","role":"assistant","text":"Done."}"#,
        r#"{"type":"completion","finalText":"Done.","numTurns":2,"usage":{"input_tokens":10,"output_tokens":2,"cache_read_input_tokens":1,"cache_creation_input_tokens":4}}"#,
    ];
    let (report, calls) = read(Droid, &run, 0);
    assert_eq!(
        (report.final_text.as_str(), class(&report), report.turns),
        ("Done.", None, Some(2))
    );
    assert_eq!(
        (
            report.input_tokens,
            report.output_tokens,
            report.cached_tokens
        ),
        (Some(15), Some(2), Some(1))
    );
    // Its first line names its default model, whatever answers.
    assert_eq!(report.model, None);
    assert_eq!(
        (calls[0].ok, calls[0].duration_ms),
        (Some(false), Some(500))
    );
    assert_eq!(class(&read(Droid, &run[..5], 0).0), Some("crash"));
    let failed = r#"{"type":"result","subtype":"failure","is_error":true,"result":"Exec failed"}"#;
    let (report, _) = read(Droid, &[failed], 1);
    assert_eq!(
        (class(&report), report.final_text.as_str()),
        (Some("other"), "")
    );
}

#[test]
fn cn_is_read() {
    for (lines, exit_code, text, expected) in [
        (
            &[r#"{"response":"Done.","status":"success","note":"n"}"#][..],
            0,
            "Done.",
            None,
        ),
        (
            &[
                "{",
                r#"  "response": "Done.","#,
                r#"  "status": "success""#,
                "}",
            ],
            0,
            "Done.",
            None,
        ),
        (
            &[r#"{"status":"error","message":"401 Incorrect API key"}"#],
            1,
            "",
            Some("auth"),
        ),
        (&[], 0, "", Some("crash")),
    ] {
        let (report, _) = read(Cn, lines, exit_code);
        assert_eq!(
            (report.final_text.as_str(), class(&report)),
            (text, expected),
            "{lines:?}"
        );
    }
}

#[test]
fn text_is_its_end() {
    for (lines, exit_code, text, expected) in [
        (
            &["a", "\u{1b}[32mCOMPLETE\u{1b}[0m"][..],
            0,
            "a\nCOMPLETE",
            None,
        ),
        (&["COMPLETE"], 1, "COMPLETE", Some("other")),
        (&["COMPLETE"], 137, "COMPLETE", Some("crash")),
        (
            &["litellm.AuthenticationError: no key"],
            0,
            "litellm.AuthenticationError: no key",
            Some("auth"),
        ),
        (
            &["litellm.RateLimitError: x", "Retrying in 1 s", "ok"],
            0,
            "litellm.RateLimitError: x\nRetrying in 1 s\nok",
            None,
        ),
    ] {
        let (report, _) = read(Text, lines, exit_code);
        assert_eq!(
            (report.final_text.as_str(), class(&report)),
            (text, expected),
            "{lines:?}"
        );
    }
}

#[test]
fn qwen_does_not_believe_joined_fragments() {
    let answer = r#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"cut COMPLETEcut COMPLETE"}]}}"#;
    let retry = r#"{"type":"system","subtype":"retry","data":{"preserveText":false}}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"cut COMPLETEcut COMPLETE"}"#;
    let (joined, _) = read(Qwen, &[retry, answer, result], 0);
    assert_eq!(
        (
            joined.final_text.as_str(),
            class(&joined),
            joined.warnings.len()
        ),
        ("", None, 1)
    );
    // A retry of an earlier message does not taint the last one.
    let tool = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#;
    let (clean, _) = read(Qwen, &[retry, answer, tool, answer, result], 0);
    assert_eq!(clean.final_text, "cut COMPLETEcut COMPLETE");
    let (limit, _) = read(Qwen, &[answer], 55);
    assert_eq!(
        (class(&limit), limit.unfinished, limit.warnings.len()),
        (None, true, 1)
    );
}

#[test]
fn claude_while_it_runs() {
    let text = |id: &str, parent: &str, text: &str| {
        format!(
            r#"{{"message":{{"content":[{{"text":"{text}","type":"text"}}],"id":"{id}","usage":{{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":1}}}},"parent_tool_use_id":{parent},"type":"assistant"}}"#
        )
    };
    let lines = [
        text("1", "null", "A"),
        text("1", "null", "B"),
        text("2", "\"t\"", "sub-agent COMPLETE"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (report, _) = read_until(Claude, &lines, None, true, false);
    assert_eq!(
        (report.final_text.as_str(), class(&report)),
        ("A\nB", Some("timeout"))
    );
    assert_eq!(
        (
            report.input_tokens,
            report.output_tokens,
            report.cached_tokens
        ),
        (Some(34), Some(2), Some(10))
    );
    let tool = r#"{"type":"assistant","message":{"id":"3","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}"#;
    let (report, _) = read_until(Claude, &[&lines[..], &[tool]].concat(), None, true, false);
    assert_eq!(
        report.final_text, "",
        "words before a tool call are not final"
    );
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":1,"error_status":529,"error":"overloaded"}"#;
    let (report, _) = read_until(Claude, &[retry], None, false, true);
    assert_eq!(class(&report), Some("overloaded"));
    let done = r#"{"type":"result","is_error":false,"subtype":"success","result":"Done."}"#;
    let (report, _) = read_until(Claude, &[done], None, true, false);
    assert_eq!(
        (report.final_text.as_str(), class(&report)),
        ("Done.", None),
        "it had come to its end before"
    );
}

#[test]
fn claude_json_may_be_an_array() {
    let array = r#"[{"type":"system","subtype":"init","session_id":"s","model":"m"},{"type":"result","is_error":false,"result":"Done."}]"#;
    let (report, _) = read(Claude, &[array], 0);
    assert_eq!(
        (
            report.final_text.as_str(),
            report.agent_session_id.as_deref()
        ),
        ("Done.", Some("s"))
    );
}

#[test]
fn codex_ends_only_with_its_turn() {
    let message =
        r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"COMPLETE"}}"#;
    let todo = r#"{"type":"item.completed","item":{"id":"2","type":"todo_list","items":[]}}"#;
    let command =
        r#"{"type":"item.started","item":{"id":"3","type":"command_execution","command":"ls"}}"#;
    let failed = r#"{"type":"turn.failed","error":{"message":"Incomplete response returned, reason: max_output_tokens"}}"#;
    let completed = r#"{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":4,"output_tokens":2}}"#;
    for (lines, exit_code, text, expected) in [
        (&[message, todo, completed][..], 0, "COMPLETE", None),
        (&[message, failed], 1, "COMPLETE", Some("context_overflow")),
        (&[message, command], 0, "", Some("crash")),
        (&[message], 143, "COMPLETE", Some("crash")),
    ] {
        let (report, _) = read(Codex, lines, exit_code);
        assert_eq!(
            (report.final_text.as_str(), class(&report)),
            (text, expected),
            "{lines:?}"
        );
    }
}

#[test]
fn a_retry_is_not_the_end() {
    let reconnecting = r#"{"type":"error","message":"Reconnecting... 1/5 (stream disconnected)"}"#;
    let (report, _) = read_until(Codex, &[reconnecting], None, true, false);
    assert_eq!(class(&report), Some("timeout"));
    let busy = r#"{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"503 busy"}}"#;
    let retry = r#"{"type":"auto_retry_start","attempt":1}"#;
    let done = r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"stopReason":"stop"}}"#;
    assert_eq!(
        class(&read_until(Pi, &[busy, retry], None, false, true).0),
        Some("overloaded")
    );
    let (report, _) = read(Pi, &[busy, retry, done], 0);
    assert_eq!(
        (report.final_text.as_str(), class(&report)),
        ("Done.", None)
    );
}
