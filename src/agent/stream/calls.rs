//! Pairs the beginning of a tool call with its end. It must not grow with the length of a turn.

use super::json::cut;

/// The longest arguments that are kept.
pub(super) const ARGUMENTS_MAX_BYTES: usize = 16 * 1024;
/// How much of a result is kept: its beginning.
pub(super) const RESULT_HEAD_MAX_BYTES: usize = 4 * 1024;
/// Calls under way at once, and finished calls that nobody has taken: past these the oldest are let go.
const CALLS_MAX: usize = 1024;

/// One tool call of the agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCall {
    /// Its place among the calls of the turn, in the order in which they ended, from 1.
    pub position: u64,
    /// The tool, as the agent calls it.
    pub name: String,
    /// The arguments as JSON; cut after 16 KiB, so a long one is no longer valid JSON.
    pub arguments: String,
    /// The beginning of the result, at most 4 KiB.
    pub result: String,
    /// Whether it went well; unknown for a call that never ended.
    pub ok: Option<bool>,
    /// How long it took, where the stream has times.
    pub duration_ms: Option<u64>,
    /// How often it was tried again before this came of it.
    pub retries: u32,
}

struct Open {
    id: String,
    call: ToolCall,
    started_ms: Option<i64>,
}

/// The calls of one turn.
#[derive(Default)]
pub(super) struct Calls {
    open: Vec<Open>,
    done: Vec<ToolCall>,
    started: u64,
    ended: u64,
}

impl Calls {
    /// A call begins. A second beginning with the same id is the same call.
    pub(super) fn start(&mut self, id: &str, name: &str, arguments: &str, at_ms: Option<i64>) {
        if self.open.iter().any(|open| open.id == id) {
            return;
        }
        self.started += 1;
        if self.open.len() == CALLS_MAX {
            let oldest = self.open.remove(0);
            self.push_done(oldest.call);
        }
        let call = ToolCall {
            name: cut(name, 200).to_owned(),
            arguments: cut(arguments, ARGUMENTS_MAX_BYTES).to_owned(),
            ..ToolCall::default()
        };
        self.open.push(Open {
            id: id.to_owned(),
            call,
            started_ms: at_ms,
        });
    }

    /// A call ends; an end without a beginning is not ours to tell of.
    pub(super) fn end(&mut self, id: &str, result: &str, ok: bool, at_ms: Option<i64>) {
        let Some(Open {
            call, started_ms, ..
        }) = self.take_begun(id)
        else {
            return;
        };
        let duration_ms = started_ms
            .zip(at_ms)
            .and_then(|(from, to)| u64::try_from(to - from).ok());
        self.push_done(ToolCall {
            result: cut(result, RESULT_HEAD_MAX_BYTES).to_owned(),
            ok: Some(ok),
            duration_ms,
            ..call
        });
    }

    /// The same for a stream that tells itself how long it took, and how often it was tried.
    pub(super) fn end_told(&mut self, id: &str, told: ToolCall) {
        let Some(Open { call, .. }) = self.take_begun(id) else {
            return;
        };
        self.push_done(ToolCall {
            name: call.name,
            arguments: call.arguments,
            result: cut(&told.result, RESULT_HEAD_MAX_BYTES).to_owned(),
            ..told
        });
    }

    fn take_begun(&mut self, id: &str) -> Option<Open> {
        let at = self.open.iter().position(|open| open.id == id)?;
        Some(self.open.remove(at))
    }

    pub(super) fn started(&self) -> u64 {
        self.started
    }

    pub(super) fn take_done(&mut self) -> Vec<ToolCall> {
        std::mem::take(&mut self.done)
    }

    pub(super) fn take_open(&mut self) -> Vec<ToolCall> {
        std::mem::take(&mut self.open)
            .into_iter()
            .map(|open| open.call)
            .collect()
    }

    fn push_done(&mut self, call: ToolCall) {
        self.ended += 1;
        let call = ToolCall {
            position: self.ended,
            ..call
        };
        if self.done.len() == CALLS_MAX {
            self.done.remove(0);
        }
        self.done.push(call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_find_their_beginnings() {
        let mut calls = Calls::default();
        calls.start("a", "bash", "{}", Some(1_000));
        calls.start("b", "read", "{}", None);
        calls.start("a", "bash", "{}", Some(9_000));
        calls.end("nobody", "x", true, None);
        calls.end("a", "out", false, Some(1_250));
        let done = calls.take_done();
        assert_eq!((done.len(), calls.started()), (1, 2));
        assert_eq!(
            (done[0].ok, done[0].duration_ms, done[0].result.as_str()),
            (Some(false), Some(250), "out")
        );
        assert_eq!(calls.take_open()[0].name, "read");
    }

    #[test]
    fn calls_are_bounded() {
        let mut calls = Calls::default();
        for number in 0..3_000 {
            calls.start(&number.to_string(), "bash", &"x".repeat(20_000), None);
        }
        assert_eq!(calls.open.len(), CALLS_MAX);
        assert_eq!(calls.done.len(), CALLS_MAX);
        assert_eq!(calls.open[0].call.arguments.len(), ARGUMENTS_MAX_BYTES);
    }
}
