//! How a turn ended, from the stream's word, the exit code and stderr together: exit codes lie, each tool in its own way.
//! It must not know a tool; what a tool's exit codes mean is told to it.

use super::Ending;
use super::classify::{
    DETAIL_MAX_BYTES, OUT_OF_MEMORY, classify_status, classify_text, readable, telling_line,
};
use super::reset::reset_from_text;
use super::sheet::{Sheet, one_line};
use crate::model::failure::{Failure, FailureClass};

/// What the stream itself says about its end.
pub(super) enum Said {
    /// The tool came to its end, and says so.
    Complete,
    /// The tool stopped at a limit it was given: not a failure, and not the end of the work.
    Unfinished,
    /// The stream broke off.
    Incomplete,
    /// The tool says what went wrong.
    Failed(Failure),
}

/// Decides on the failure of a turn. `meaning` is what this tool's exit codes mean, where they mean something of their own.
pub(super) fn verdict(
    said: Said,
    ending: &Ending<'_>,
    meaning: fn(i32) -> Option<FailureClass>,
    sheet: &mut Sheet,
) -> Option<Failure> {
    let ended_by_us = ending.timed_out || ending.silent;
    match said {
        Said::Failed(failure) => return Some(failure),
        Said::Unfinished => return None,
        Said::Complete if ended_by_us => {
            sheet.warn("had said its last word, and was ended because it did not exit");
            return None;
        }
        _ if ending.timed_out => {
            return Some(plain(
                FailureClass::Timeout,
                "the iteration's time was over",
            ));
        }
        _ if ending.silent => return Some(silence(ending)),
        _ => {}
    }
    let code = ending.exit_code.unwrap_or(0);
    let class = match code {
        0 => None,
        // What a shell says of a program that may not be run or is not there.
        126 | 127 => Some(FailureClass::Configuration),
        _ => meaning(code),
    };
    let signal = ending
        .signal
        .or_else(|| signal_of(code).filter(|_| class.is_none()));
    match (signal, class) {
        (Some(signal), _) => Some(killed(signal, ending)),
        (None, Some(class)) => Some(told_by_exit(class, code, ending)),
        (None, None) if code != 0 => Some(told_by_stderr(
            FailureClass::Other,
            &format!("exit code {code}"),
            ending,
        )),
        (None, None) if matches!(said, Said::Incomplete) => Some(told_by_stderr(
            FailureClass::Crash,
            "ended without its last word",
            ending,
        )),
        (None, None) => None,
    }
}

/// A failure in the tool's own words, with the HTTP status where the stream has one.
pub(super) fn failed(status: Option<u64>, text: &str, ending: &Ending<'_>) -> Failure {
    let class = match status {
        Some(status) => classify_status(status, text),
        None => classify_text(text).unwrap_or(FailureClass::Other),
    };
    failed_as(class, text, ending)
}

/// A failure of a known class in the tool's own words.
pub(super) fn failed_as(class: FailureClass, text: &str, ending: &Ending<'_>) -> Failure {
    let limit = matches!(class, FailureClass::RateLimit | FailureClass::UsageLimit);
    let reset_at_ms = limit
        .then(|| reset_from_text(text, ending.now_ms, ending.time_zone))
        .flatten();
    Failure {
        class,
        detail: readable(text),
        reset_at_ms,
    }
}

fn plain(class: FailureClass, detail: &str) -> Failure {
    Failure {
        class,
        detail: one_line(detail, DETAIL_MAX_BYTES),
        reset_at_ms: None,
    }
}

/// Silence is often endless retrying, and stderr may say of what.
fn silence(ending: &Ending<'_>) -> Failure {
    use FailureClass::{Auth, Network, Overloaded, RateLimit, UsageLimit};
    match classify_text(ending.stderr_tail) {
        Some(class @ (Auth | Network | Overloaded | RateLimit | UsageLimit)) => {
            failed_as(class, telling_line(ending.stderr_tail), ending)
        }
        _ => plain(
            FailureClass::Silence,
            "nothing was heard of it for too long",
        ),
    }
}

fn killed(signal: i32, ending: &Ending<'_>) -> Failure {
    let stderr = ending.stderr_tail.to_lowercase();
    if OUT_OF_MEMORY.iter().any(|sign| stderr.contains(sign)) {
        return plain(
            FailureClass::OutOfMemory,
            &format!("out of memory, ended by {}", signal_name(signal)),
        );
    }
    plain(
        FailureClass::Crash,
        &format!("ended by {}", signal_name(signal)),
    )
}

fn told_by_exit(class: FailureClass, code: i32, ending: &Ending<'_>) -> Failure {
    // A code of one byte cannot tell a used-up quota from too many requests, nor an overflow from a bad request; words can.
    let words = telling_line(ending.stderr_tail);
    let class = match (class, classify_text(ending.stderr_tail)) {
        (FailureClass::RateLimit, Some(FailureClass::UsageLimit)) => FailureClass::UsageLimit,
        (FailureClass::Configuration, Some(FailureClass::ContextOverflow)) => {
            FailureClass::ContextOverflow
        }
        (class, _) => class,
    };
    match words {
        "" => plain(class, &format!("exit code {code}")),
        words => failed_as(class, words, ending),
    }
}

fn told_by_stderr(otherwise: FailureClass, what: &str, ending: &Ending<'_>) -> Failure {
    let words = telling_line(ending.stderr_tail);
    let class = classify_text(ending.stderr_tail).unwrap_or(otherwise);
    if words.is_empty() {
        return plain(class, what);
    }
    let mut failure = failed_as(class, words, ending);
    failure.detail = one_line(&format!("{what}: {}", failure.detail), DETAIL_MAX_BYTES);
    failure
}

/// A shell, and a tool that catches a signal, exit with 128 and the signal's number.
fn signal_of(code: i32) -> Option<i32> {
    (129..=159).contains(&code).then_some(code - 128)
}

/// The name of a signal on Linux.
pub(super) fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let name = usize::try_from(signal - 1)
        .ok()
        .and_then(|at| NAMES.get(at));
    name.map_or_else(|| format!("signal {signal}"), |name| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    #[test]
    fn endings_are_judged() {
        let quiet = |_: i32| None;
        let zone = TimeZone::UTC;
        let ended = |exit_code, signal, timed_out, silent, stderr_tail| Ending {
            exit_code,
            signal,
            timed_out,
            silent,
            stderr_tail,
            now_ms: 0,
            time_zone: &zone,
        };
        for (complete, ending, expected) in [
            (true, ended(Some(0), None, false, false, "error 500"), None),
            (true, ended(None, None, false, false, ""), None),
            (true, ended(Some(0), None, true, false, ""), None),
            (
                true,
                ended(Some(1), None, false, false, ""),
                Some(("other", "exit code 1")),
            ),
            (
                true,
                ended(Some(143), None, false, false, ""),
                Some(("crash", "ended by SIGTERM")),
            ),
            (
                false,
                ended(Some(0), None, false, false, ""),
                Some(("crash", "ended without its last word")),
            ),
            (
                false,
                ended(Some(1), None, false, false, "x\nerror: unknown option '-x'"),
                Some(("configuration", "exit code 1: error: unknown option '-x'")),
            ),
            (
                false,
                ended(None, Some(9), false, false, ""),
                Some(("crash", "ended by SIGKILL")),
            ),
            (
                false,
                ended(None, Some(11), false, false, ""),
                Some(("crash", "ended by SIGSEGV")),
            ),
            (
                false,
                ended(Some(137), None, false, false, "Out of memory"),
                Some(("out_of_memory", "out of memory, ended by SIGKILL")),
            ),
            (
                false,
                ended(None, Some(6), false, false, "JavaScript heap out of memory"),
                Some(("out_of_memory", "out of memory, ended by SIGABRT")),
            ),
            (
                false,
                ended(None, Some(9), true, false, "error 500"),
                Some(("timeout", "the iteration's time was over")),
            ),
            (
                false,
                ended(None, Some(9), false, true, ""),
                Some(("silence", "nothing was heard of it for too long")),
            ),
            (
                false,
                ended(None, Some(9), false, true, "retrying: status 429"),
                Some(("rate_limit", "retrying: status 429")),
            ),
        ] {
            let said = if complete {
                Said::Complete
            } else {
                Said::Incomplete
            };
            let found = verdict(said, &ending, quiet, &mut Sheet::default());
            let found = found
                .as_ref()
                .map(|failure| (failure.class.as_str(), failure.detail.as_str()));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn signals_have_names() {
        for (signal, name) in [
            (1, "SIGHUP"),
            (9, "SIGKILL"),
            (15, "SIGTERM"),
            (31, "SIGSYS"),
            (34, "signal 34"),
            (0, "signal 0"),
        ] {
            assert_eq!(signal_name(signal), name);
        }
    }
}
