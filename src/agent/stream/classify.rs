//! What the words of a failure mean. Shared by all readers, and all there is for a tool whose only word is its stderr.
//! It must not decide whether there was a failure at all.

use serde::Deserialize;

use super::json::Leaf;
use super::sheet::one_line;
use crate::model::failure::FailureClass::{self, *};

const LINES_MAX: usize = 200;
/// The length of a line for people.
pub(in crate::agent) const DETAIL_MAX_BYTES: usize = 300;

/// Signs that outrank a status code in the same line: providers send an overflow as 400, and a used-up quota as 429.
const STRONG: &[(FailureClass, &[&str])] = &[
    (OutOfMemory, OUT_OF_MEMORY),
    (
        ContextOverflow,
        &[
            "context_length_exceeded",
            "contextoverflow",
            "maximum context length",
            "prompt is too long",
            "prompt too long",
            "input is too long",
            "exceeds the context window",
            "context window exceeded",
            "exceed_context_size",
            "exceeds the available context size",
            "exceed context limit",
            "exceeds the context length",
            "exceeds the maximum number of tokens",
            "request too large",
            "request_too_large",
            "output token maximum",
            "max_output_tokens",
        ],
    ),
    (
        RateLimit,
        &[
            "per minute",
            "per-minute",
            "perminute",
            "tokens per min",
            "requests per min",
        ],
    ),
    (
        UsageLimit,
        &[
            "insufficient_quota",
            "usage limit",
            "usage_limit",
            "hit your limit",
            "quota",
            "credit balance",
            "out of credits",
            "billing",
        ],
    ),
    (
        Refusal,
        &[
            "safeguards flagged",
            "content_filter",
            "content policy",
            "usage policy",
            "violates our",
            "prohibited_content",
        ],
    ),
];

/// Signs of a process that had no memory left.
pub(super) const OUT_OF_MEMORY: &[&str] = &[
    "out of memory",
    "heap limit",
    "cannot allocate memory",
    "allocation failed",
    "oom-kill",
    "oom_kill",
    "memory cgroup",
    "enomem",
];

/// Signs that count where no status code stands.
const WEAK: &[(FailureClass, &[&str])] = &[
    (
        RateLimit,
        &[
            "rate limit",
            "rate_limit",
            "ratelimit",
            "too many requests",
            "resource_exhausted",
            "throttl",
        ],
    ),
    (
        Auth,
        &[
            "unauthorized",
            "unauthenticated",
            "forbidden",
            "authentication",
            "failed to authenticate",
            "invalid api key",
            "invalid_api_key",
            "api key not valid",
            "incorrect api key",
            "no api key",
            "invalid x-api-key",
            "not logged in",
            "/login",
            "please log in",
            "please sign in",
            "login required",
            "token has expired",
            "permission_error",
        ],
    ),
    (
        Overloaded,
        &[
            "overloaded",
            "high demand",
            "internal server error",
            "server_error",
            "servererror",
            "bad gateway",
            "service unavailable",
            "temporarily unavailable",
            "at capacity",
        ],
    ),
    (
        Network,
        &[
            "econnrefused",
            "econnreset",
            "enotfound",
            "etimedout",
            "eai_again",
            "epipe",
            "connection refused",
            "connectionrefused",
            "unable to connect",
            "connection reset",
            "connection error",
            "connection closed",
            "network error",
            "network is unreachable",
            "name resolution",
            "could not resolve",
            "getaddrinfo",
            "stream disconnected",
            "socket hang up",
            "fetch failed",
            "error sending request",
            "timed out",
        ],
    ),
    (
        Configuration,
        &[
            "invalid_request",
            "invalid_argument",
            "invalid argument",
            "not_found_error",
            "model_not_found",
            "model not found",
            "unknown model",
            "issue with the selected model",
            "unknown option",
            "unknown argument",
            "unexpected argument",
            "unrecognized option",
            "unrecognized argument",
            "invalid auth method",
            "cannot be used with root",
            "trusted folder",
            "trusted directory",
            "command not found",
        ],
    ),
];

/// The kind of failure a text tells of; the last line that tells of one counts.
pub fn classify_text(text: &str) -> Option<FailureClass> {
    text.lines().rev().take(LINES_MAX).find_map(classify_line)
}

/// The kind of failure an HTTP status and its text tell of.
pub(in crate::agent) fn classify_status(status: u64, text: &str) -> FailureClass {
    let strong = text
        .lines()
        .rev()
        .take(LINES_MAX)
        .find_map(|line| find(STRONG, &line.to_lowercase()));
    match (status, strong) {
        (400 | 413 | 422, Some(ContextOverflow)) | (413, _) => ContextOverflow,
        (400, Some(class @ (UsageLimit | Refusal))) => class,
        (429, Some(UsageLimit)) | (402, _) => UsageLimit,
        (429, _) => RateLimit,
        (401 | 403, _) => Auth,
        (408, _) => Network,
        (400..=499, _) => Configuration,
        (500..=599, _) => Overloaded,
        _ => classify_text(text).unwrap_or(Other),
    }
}

/// The line that best says what went wrong, for people.
pub(super) fn telling_line(text: &str) -> &str {
    let mut lines = text
        .lines()
        .rev()
        .take(LINES_MAX)
        .filter(|line| !line.trim().is_empty());
    let last = lines.clone().next().unwrap_or_default();
    lines
        .find(|line| classify_line(line).is_some())
        .unwrap_or(last)
}

/// A failure's text on one line; of an API's JSON only its message.
pub(super) fn readable(text: &str) -> String {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow, default)]
        message: Leaf<'a>,
        #[serde(default)]
        error: Option<Inner<'a>>,
    }
    #[derive(Deserialize)]
    struct Inner<'a> {
        #[serde(borrow, default)]
        message: Leaf<'a>,
    }
    let json = text
        .find('{')
        .zip(text.rfind('}'))
        .and_then(|(from, to)| text.get(from..=to));
    let message = json
        .and_then(|json| serde_json::from_str::<Body>(json).ok())
        .and_then(|body| {
            let inner = body.error.and_then(|error| error.message.some_text());
            inner.or_else(|| body.message.some_text())
        });
    one_line(message.as_deref().unwrap_or(text), DETAIL_MAX_BYTES)
}

fn classify_line(line: &str) -> Option<FailureClass> {
    let line = line.to_lowercase();
    if let Some(class) = find(STRONG, &line) {
        return Some(class);
    }
    match status_in(&line) {
        Some(status) => Some(classify_status(status, "")),
        None => find(WEAK, &line),
    }
}

fn find(table: &[(FailureClass, &[&str])], lowercase: &str) -> Option<FailureClass> {
    let (class, _) = table
        .iter()
        .find(|(_, signs)| signs.iter().any(|sign| lowercase.contains(sign)))?;
    Some(*class)
}

/// An HTTP status of 400 and above that is named as one; numbers of lines and of bytes are not.
fn status_in(line: &str) -> Option<u64> {
    let bytes = line.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    (0..bytes.len()).find_map(|at| {
        let alone = digit(at)
            && digit(at + 1)
            && digit(at + 2)
            && !digit(at + 3)
            && (at == 0 || !digit(at - 1));
        let status: u64 = alone.then(|| line[at..at + 3].parse().ok())??;
        let before = line[..at].trim_end_matches([' ', ':', '=', '"', '\\', '\'', '(', '[', '_']);
        let in_brackets = line[..at].ends_with('(') && bytes.get(at + 3) == Some(&b')');
        let named = ["status", "code", "error", "http", "http/1.1", "http/2"]
            .iter()
            .any(|word| before.ends_with(word));
        ((400..600).contains(&status) && (named || in_brackets || before.trim().is_empty()))
            .then_some(status)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_the_class() {
        for (text, expected) in [
            ("Error: 401 Unauthorized", Some(Auth)),
            ("unexpected status 403 Forbidden: no", Some(Auth)),
            ("HTTP 404", Some(Configuration)),
            ("  status: 400\n}", Some(Configuration)),
            (
                "exceeded retry limit, last status: 429 Too Many Requests",
                Some(RateLimit),
            ),
            (
                "429 You exceeded your current quota, please check your plan",
                Some(UsageLimit),
            ),
            (
                "429 Quota exceeded for requests per minute",
                Some(RateLimit),
            ),
            ("API Error: Request rejected (429) · later", Some(RateLimit)),
            (
                "400 This model's maximum context length is 128000 tokens.",
                Some(ContextOverflow),
            ),
            (
                "unexpected status 529 <unknown status code>: x",
                Some(Overloaded),
            ),
            ("We’re currently experiencing high demand", Some(Overloaded)),
            ("connect ECONNREFUSED 127.0.0.1:443", Some(Network)),
            (
                "Cannot connect to API: Unable to connect. Is the computer able to access the url? (ConnectionRefused)",
                Some(Network),
            ),
            (
                "FATAL ERROR: Reached heap limit Allocation failed",
                Some(OutOfMemory),
            ),
            ("error: unknown option '--nope'", Some(Configuration)),
            ("at run (file:///x/chunk.js:404:24)", None),
            ("wrote 512 bytes, line 429", None),
            ("all is well", None),
            ("", None),
            (
                "error 500 once\nthen it went on\nerror: unknown option",
                Some(Configuration),
            ),
        ] {
            assert_eq!(classify_text(text), expected, "{text}");
        }
    }

    #[test]
    fn statuses_tell_the_class() {
        for (status, text, expected) in [
            (400, "bad", Configuration),
            (400, "prompt is too long", ContextOverflow),
            (400, "exceed_context_size_error", ContextOverflow),
            (
                400,
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
                ContextOverflow,
            ),
            (401, "quota", Auth),
            (402, "", UsageLimit),
            (404, "", Configuration),
            (413, "", ContextOverflow),
            (429, "slow down", RateLimit),
            (429, "insufficient_quota", UsageLimit),
            (500, "", Overloaded),
            (529, "", Overloaded),
            (200, "rate limit", RateLimit),
            (200, "", Other),
        ] {
            assert_eq!(classify_status(status, text), expected, "{status} {text}");
        }
    }

    #[test]
    fn details_are_for_people() {
        for (text, expected) in [
            (
                r#"{"error": {"message": "mock error", "code": null}}"#,
                "mock error",
            ),
            (r#"[API Error: {"error":{"code":400,"message":"m"}}]"#, "m"),
            ("two\nlines  here", "two lines here"),
            ("a {brace}", "a {brace}"),
        ] {
            assert_eq!(readable(text), expected);
        }
        assert_eq!(telling_line("a\nerror 500\nb\n\n"), "error 500");
        assert_eq!(telling_line("a\nb\n\n"), "b");
    }
}
