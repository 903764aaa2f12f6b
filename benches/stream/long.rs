//! Streams of tools, long as those of a day's work: tool results of some hundred KB, short steps, and lines of megabytes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

const STREAM_BYTES: usize = 200_000_000;
/// The output of a tool, as it stands in a line.
const SOURCE_LINE: &str = "    let value = compute(\\\"name\\\", 42);\\n";

/// How one tool says the same things.
pub struct Tool {
    pub name: &'static str,
    /// A call and its result, around the output.
    result: fn(number: usize, output: &str) -> String,
    /// A message in the middle of the work.
    message: fn(number: usize) -> String,
    end: &'static str,
}

pub const TOOLS: [Tool; 2] = [
    Tool {
        name: "claude",
        result: |number, output| {
            format!(
                r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"t{number}","type":"tool_result","content":"{output}"}}]}},"session_id":"s"}}"#
            )
        },
        message: |number| {
            format!(
                r#"{{"type":"assistant","message":{{"id":"m{number}","model":"m","role":"assistant","content":[{{"type":"text","text":"On to step {number}."}},{{"type":"tool_use","id":"t{number}","name":"Read","input":{{"file":"{number}.rs"}}}}],"usage":{{"input_tokens":9,"output_tokens":9}}}},"session_id":"s"}}"#
            )
        },
        end: r#"{"type":"result","subtype":"success","is_error":false,"result":"TASK_COMPLETE","session_id":"s","total_cost_usd":1.5,"usage":{"input_tokens":9,"output_tokens":9}}"#,
    },
    Tool {
        name: "codex",
        result: |number, output| {
            format!(
                r#"{{"type":"item.completed","item":{{"id":"i{number}","type":"command_execution","command":"cat {number}.rs","aggregated_output":"{output}","exit_code":0,"status":"completed"}}}}"#
            )
        },
        message: |number| {
            format!(
                r#"{{"type":"item.completed","item":{{"id":"m{number}","type":"agent_message","text":"On to step {number}."}}}}"#
            )
        },
        end: r#"{"type":"item.completed","item":{"id":"m","type":"agent_message","text":"TASK_COMPLETE"}}
{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":0,"output_tokens":9}}"#,
    },
];

/// Writes such a stream of a tool; returns its length.
pub fn write(tool: &Tool, path: &Path) -> usize {
    let mut file = BufWriter::new(File::create(path).expect("create the stream"));
    let mut written = 0;
    let mut number = 0;
    while written < STREAM_BYTES {
        // Every hundredth result is a file of megabytes.
        let lines = match number % 100 {
            50 => 80_000,
            _ => 1_000 + number % 7 * 2_000,
        };
        let lines = [
            (tool.message)(number),
            (tool.result)(number, &SOURCE_LINE.repeat(lines)),
        ];
        for line in lines {
            writeln!(file, "{line}").expect("write the stream");
            written += line.len() + 1;
        }
        number += 1;
    }
    writeln!(file, "{}", tool.end).expect("end the stream");
    written + tool.end.len() + 1
}
