//! The daemon's side of a filter: asks the child, and turns how that ended into a result or a trouble. It must not evaluate anything here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::{Limits, Question, Trouble, Verdict, out_of_memory, program, size};
use crate::model::policy::ErrorClass;
use crate::process::{Captured, Errand, Exit, Surroundings, capture};

/// Beside a result, a verdict has a few words of its own; an error's message is shorter than this.
const WORDS_BYTES: usize = 64 << 10;
/// Of a process that broke down, the end of what it said.
const LAST_WORDS_CHARACTERS: usize = 500;
/// The C library reserves address space for each thread; where that is refused, it asks the kernel for every few bytes instead.
const ONE_ARENA: (&str, &str) = ("MALLOC_ARENA_MAX", "1");

/// Runs a filter. `program` is ralphd's own binary: `/proc/self/exe` from within it, which holds even after its file was replaced.
/// `input` is `.`: the results of the dependencies by their order, `{"1": …}`; `inputs` is `$input`: the workflow's inputs.
/// No output is null, one is itself, several are an array. A number that JSON's reader here cannot hold exactly (beyond 64 bits, or a
/// decimal of more than 17 digits) becomes the nearest one it can; `tostring` in the filter keeps every digit.
/// When this returns or is dropped, the filter's process is gone.
pub async fn run(
    program: &Path,
    filter: &str,
    input: &Json,
    inputs: &BTreeMap<String, String>,
    limits: &Limits,
) -> Result<Json, Trouble> {
    program::within(filter, limits.filter_bytes).map_err(Trouble::other)?;
    let question = question(filter, input, inputs, limits)?;
    let errand = errand(program, question, limits)?;
    let captured = capture(&errand)
        .await
        .map_err(|error| Trouble::other(format!("cannot run the filter: {error:#}")))?;
    judge(&captured, limits)
}

fn question(
    filter: &str,
    input: &Json,
    inputs: &BTreeMap<String, String>,
    limits: &Limits,
) -> Result<Vec<u8>, Trouble> {
    let question = Question {
        filter: filter.to_owned(),
        inputs: inputs.clone(),
        input,
    };
    let text = serde_json::to_vec(&question).map_err(|error| {
        Trouble::other(format!("cannot write down the filter's input: {error}"))
    })?;
    if text.len() > limits.input_bytes {
        return Err(Trouble::other(format!(
            "the results given to the filter are {} as JSON; at most {} are allowed: let the tasks before it return less",
            size(text.len() as u64),
            size(limits.input_bytes as u64)
        )));
    }
    Ok(text)
}

fn errand(program: &Path, question: Vec<u8>, limits: &Limits) -> Result<Errand, Trouble> {
    let program = program
        .to_str()
        .ok_or_else(|| Trouble::other(format!("the path {} is not UTF-8", program.display())))?;
    let argv = vec![
        program.to_owned(),
        "transform".to_owned(),
        limits.memory_bytes.to_string(),
        limits.result_bytes.to_string(),
    ];
    let (name, value) = ONE_ARENA;
    Ok(Errand {
        environment: Surroundings::Whole(vec![(name.to_owned(), value.to_owned())]),
        cwd: Some(PathBuf::from("/")),
        input: Some(question),
        ..Errand::new(argv, limits.time, limits.result_bytes + WORDS_BYTES)
    })
}

/// What became of the filter, from how its process ended.
pub(super) fn judge(captured: &Captured, limits: &Limits) -> Result<Json, Trouble> {
    if captured.timed_out {
        return Err(Trouble::new(
            ErrorClass::Timeout,
            format!(
                "the filter did not end within {} s",
                limits.time.as_secs_f64()
            ),
        ));
    }
    match &captured.exit {
        Exit::Code(0) => match serde_json::from_slice(&captured.stdout) {
            Ok(Verdict::Result(result)) => Ok(result),
            Ok(Verdict::Trouble(trouble)) => Err(trouble),
            Err(error) => Err(Trouble::other(format!(
                "the filter's process gave no readable result: {error}"
            ))),
        },
        Exit::NotStarted(reason) => Err(Trouble::other(format!("cannot run the filter: {reason}"))),
        Exit::Code(code) => Err(broken_down(
            &format!("ended with code {code}"),
            captured,
            limits,
        )),
        Exit::Signal(signal) => Err(broken_down(
            &format!("was ended by signal {signal}"),
            captured,
            limits,
        )),
    }
}

/// A process that could not even answer. What it said is the runtime's own words: a filter has no way to write there.
fn broken_down(how: &str, captured: &Captured, limits: &Limits) -> Trouble {
    let said = String::from_utf8_lossy(&captured.stderr);
    if said.contains("memory allocation of") {
        return out_of_memory(limits.memory_bytes);
    }
    if said.contains("overflowed its stack") {
        return Trouble::other(
            "the filter recurses or nests too deeply; a recursion needs an end, and is cheaper as reduce, limit or until",
        );
    }
    let skipped = said.chars().count().saturating_sub(LAST_WORDS_CHARACTERS);
    let said: String = said.chars().skip(skipped).collect();
    match said.trim() {
        "" => Trouble::other(format!("the filter's process {how}")),
        said => Trouble::other(format!("the filter's process {how}: {said}")),
    }
}
