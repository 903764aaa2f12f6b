//! The process of one filter: bounds itself, reads the question from stdin, answers on stdout, ends. It must read nothing before its
//! bounds are set, and needs neither configuration nor state.

use std::any::Any;
use std::io::{Read, Write};

use rustix::process::{Resource, Rlimit};
use serde_json::value::RawValue;

use super::evaluate::evaluate;
use super::{Question, Trouble, Verdict, out_of_memory};

/// The part of the memory that recursion may use.
const STACK_SHARE: u64 = 4;

/// Runs as the process of a filter; returns the exit code: 0 with a verdict on stdout, be it a result or a trouble.
pub fn transform_main(memory_bytes: u64, result_bytes: usize) -> i32 {
    // `/proc/self/exe` would show as "exe" in a list of processes; a refusal is no harm.
    let _ = rustix::thread::set_name(c"ralphd-filter");
    // A panic is told as a trouble.
    std::panic::set_hook(Box::new(|_| {}));
    let bounded = bound(Resource::Core, 0).and_then(|()| bound(Resource::As, memory_bytes));
    if let Err(error) = bounded {
        eprintln!("cannot bound the memory of the filter: {error}");
        return 1;
    }
    let stack_bytes = usize::try_from(memory_bytes / STACK_SHARE).unwrap_or(usize::MAX);
    let worker = std::thread::Builder::new()
        .stack_size(stack_bytes)
        .spawn(move || answer(result_bytes));
    let worker = match worker {
        Ok(worker) => worker,
        Err(error) => {
            eprintln!("cannot start a thread for the filter: {error}");
            return 1;
        }
    };
    let verdict = match worker.join() {
        Ok(Ok(result)) => Verdict::Result(result),
        Ok(Err(trouble)) => Verdict::Trouble(trouble),
        Err(panic) => Verdict::Trouble(panicked(panic.as_ref(), memory_bytes)),
    };
    i32::from(tell(&verdict).is_err())
}

fn bound(resource: Resource, value: u64) -> rustix::io::Result<()> {
    let ceiling = rustix::process::getrlimit(resource)
        .maximum
        .unwrap_or(u64::MAX);
    let value = Some(value.min(ceiling));
    rustix::process::setrlimit(
        resource,
        Rlimit {
            current: value,
            maximum: value,
        },
    )
}

fn answer(result_bytes: usize) -> Result<Box<RawValue>, Trouble> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Trouble::other(format!("cannot read what the filter is given: {error}"))
    };
    let mut text = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut text)
        .map_err(|error| unreadable(&error))?;
    let question: Question<Box<RawValue>> =
        serde_json::from_slice(&text).map_err(|error| unreadable(&error))?;
    // Memory that the filter can use instead.
    drop(text);
    let result = evaluate(&question, result_bytes)?;
    RawValue::from_string(result)
        .map_err(|error| Trouble::other(format!("the filter's result is not JSON: {error}")))
}

fn tell(verdict: &Verdict<Box<RawValue>>) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    serde_json::to_writer(&mut stdout, verdict)?;
    stdout.flush()
}

fn panicked(panic: &(dyn Any + Send), memory_bytes: u64) -> Trouble {
    let words = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given");
    match words {
        // More than any address space holds is refused before it is asked for.
        "capacity overflow" => out_of_memory(memory_bytes),
        words => Trouble::other(format!("the filter broke jaq, which runs it: {words}")),
    }
}
