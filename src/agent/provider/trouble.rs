//! What went wrong with one try, out of what a server said: its status, headers and body. It must not read a clock nor wait.

use super::limits::{self, Headers};
use crate::agent::stream::{DETAIL_MAX_BYTES, classify_status, one_line};
use crate::model::conversation::StepUsage;
use crate::model::failure::{Failure, FailureClass};
use serde_json::Value as Json;

/// A failed try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub failure: Failure,
    /// Asking the same again may go well.
    pub passes: bool,
    /// How long the server asks to be left alone.
    pub asked_ms: Option<i64>,
    /// What was refused for what it asks: the whole text, to see which part of it the server does not know.
    pub objection: Option<String>,
    /// A success without a single word.
    pub is_mute: bool,
    /// What the server said before that the try has used.
    pub spent: StepUsage,
}

impl Trouble {
    /// Something between us and the server.
    pub fn network(detail: impl AsRef<str>) -> Self {
        Self::passing(FailureClass::Network, detail.as_ref())
    }

    /// The server began to answer well, and ended without having said anything.
    pub fn mute(detail: impl AsRef<str>) -> Self {
        Self {
            is_mute: true,
            ..Self::network(detail)
        }
    }

    /// The server answered, but not in the dialect.
    pub fn malformed(detail: impl AsRef<str>) -> Self {
        Self::passing(FailureClass::Overloaded, detail.as_ref())
    }

    fn passing(class: FailureClass, detail: &str) -> Self {
        Self {
            failure: Failure {
                class,
                detail: one_line(detail, DETAIL_MAX_BYTES),
                reset_at_ms: None,
            },
            passes: true,
            asked_ms: None,
            objection: None,
            is_mute: false,
            spent: StepUsage::default(),
        }
    }

    /// A status that is no success.
    pub fn refused(status: u16, headers: &Headers, body: &str, now_ms: i64) -> Self {
        let class = class_of(status, body);
        let said = match message_in(body) {
            Some(message) => format!("HTTP {status}: {message}"),
            None => format!("HTTP {status} without a word"),
        };
        let passes = matches!(
            class,
            FailureClass::RateLimit | FailureClass::Overloaded | FailureClass::Network
        );
        let is_limit = passes || class == FailureClass::UsageLimit;
        let reset_at_ms = is_limit
            .then(|| limits::reset_at_ms(headers, &said, now_ms))
            .flatten();
        Self {
            failure: Failure {
                class,
                detail: one_line(&said, DETAIL_MAX_BYTES),
                reset_at_ms,
            },
            passes,
            asked_ms: reset_at_ms.map(|at_ms| at_ms.saturating_sub(now_ms)),
            // Some servers fail where they should object.
            objection: matches!(status, 400 | 422 | 500 | 501).then(|| body.to_owned()),
            is_mute: false,
            spent: StepUsage::default(),
        }
    }

    /// An `error` in the middle of a stream, or in a document that came as a success.
    pub fn told(error: &Json, now_ms: i64) -> Self {
        let code = error["code"]
            .as_u64()
            .and_then(|code| u16::try_from(code).ok());
        let kind = error["type"].as_str().or_else(|| error["code"].as_str());
        let status = match code.filter(|code| (400..600).contains(code)) {
            Some(code) => code,
            None => status_of(kind.unwrap_or_default()),
        };
        let body = serde_json::json!({ "error": error }).to_string();
        let mut trouble = Self::refused(status, &Headers::default(), &body, now_ms);
        let said = message_in(&body).unwrap_or_default();
        let kind = kind.unwrap_or("error");
        trouble.failure.detail = one_line(&format!("{kind}: {said}"), DETAIL_MAX_BYTES);
        trouble.objection = None;
        trouble
    }
}

fn class_of(status: u16, body: &str) -> FailureClass {
    match status {
        408 | 409 | 425 => FailureClass::RateLimit,
        300..=399 => FailureClass::Configuration,
        _ => classify_status(u64::from(status), body),
    }
}

/// The status with which the server would have refused, had it known before the stream began.
fn status_of(kind: &str) -> u16 {
    match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" | "insufficient_quota" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" | "rate_limit_exceeded" | "requests" | "tokens" => 429,
        "overloaded_error" => 529,
        _ => 500,
    }
}

/// The server's own words.
fn message_in(body: &str) -> Option<String> {
    let body = body.trim();
    let message = match serde_json::from_str::<Json>(body) {
        Ok(json) => words_of(&json).unwrap_or_else(|| body.to_owned()),
        Err(_) if body.starts_with('<') => without_tags(body),
        Err(_) => body.to_owned(),
    };
    (!message.trim().is_empty()).then_some(message)
}

/// Where the servers of this world put their words.
fn words_of(json: &Json) -> Option<String> {
    let error = match json {
        Json::Array(items) => items.first()?,
        other => other,
    };
    let places = [
        &error["error"]["message"],
        &error["error"],
        &error["message"],
        &error["detail"],
        &error["detail"][0]["msg"],
    ];
    let words = places.into_iter().find_map(Json::as_str);
    words.map(str::to_owned)
}

/// The readable part of a proxy's page: its title, or all that is no tag.
fn without_tags(page: &str) -> String {
    let lowercase = page.to_ascii_lowercase();
    let title = lowercase
        .find("<title>")
        .zip(lowercase.find("</title>"))
        .and_then(|(from, to)| page.get(from + "<title>".len()..to))
        .filter(|title| !title.trim().is_empty());
    if let Some(title) = title {
        return title.trim().to_owned();
    }
    let mut text = String::new();
    for piece in page.split('<') {
        let after = piece.split_once('>').map_or("", |(_, after)| after);
        text.push_str(after);
        text.push(' ');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use FailureClass::*;
    use serde_json::json;

    fn refused(status: u16, body: &str) -> Trouble {
        Trouble::refused(status, &Headers::default(), body, 1_000)
    }

    #[test]
    fn statuses_become_failures() {
        let error = |kind: &str, message: &str| {
            json!({ "error": { "type": kind, "message": message } }).to_string()
        };
        for (status, body, class, passes) in [
            (400, error("x", "temperature: no"), Configuration, false),
            (
                400,
                error("x", "prompt is too long: 9 > 8"),
                ContextOverflow,
                false,
            ),
            (
                400,
                error("exceed_context_size_error", "no"),
                ContextOverflow,
                false,
            ),
            (
                400,
                error("x", "Your credit balance is too low"),
                UsageLimit,
                false,
            ),
            (401, error("x", "invalid x-api-key"), Auth, false),
            (403, error("x", "no"), Auth, false),
            (402, error("x", "pay"), UsageLimit, false),
            (404, error("x", "model: nope"), Configuration, false),
            (408, String::new(), RateLimit, true),
            (409, String::new(), RateLimit, true),
            (
                413,
                error("request_too_large", "no"),
                ContextOverflow,
                false,
            ),
            (425, String::new(), RateLimit, true),
            (429, error("x", "slow down"), RateLimit, true),
            (429, error("insufficient_quota", "no"), UsageLimit, false),
            (500, String::new(), Overloaded, true),
            (
                503,
                "<html><body>busy</body></html>".to_owned(),
                Overloaded,
                true,
            ),
            (
                529,
                error("overloaded_error", "Overloaded"),
                Overloaded,
                true,
            ),
            (302, String::new(), Configuration, false),
        ] {
            let trouble = refused(status, &body);
            assert_eq!(trouble.failure.class, class, "{status} {body}");
            assert_eq!(trouble.passes, passes, "{status} {body}");
        }
    }

    #[test]
    fn details_are_the_servers_own_words() {
        for (body, expected) in [
            (
                r#"{"error":{"message":"no such model"}}"#,
                "HTTP 404: no such model",
            ),
            (
                r#"{"error":"model 'x' not found"}"#,
                "HTTP 404: model 'x' not found",
            ),
            (r#"{"message":"gone"}"#, "HTTP 404: gone"),
            (r#"{"detail":"Not Found"}"#, "HTTP 404: Not Found"),
            (
                r#"{"detail":[{"msg":"field required"}]}"#,
                "HTTP 404: field required",
            ),
            (
                r#"[{"error":{"message":"in a list"}}]"#,
                "HTTP 404: in a list",
            ),
            (r#"{"odd":1}"#, r#"HTTP 404: {"odd":1}"#),
            (
                "<html><head><title>404 Not Found</title></head><body>x</body></html>",
                "HTTP 404: 404 Not Found",
            ),
            (
                "<html><body><h1>Gone</h1>\n<p>away</p></body>",
                "HTTP 404: Gone away",
            ),
            ("plain\nwords", "HTTP 404: plain words"),
            ("", "HTTP 404 without a word"),
        ] {
            assert_eq!(refused(404, body).failure.detail, expected);
        }
        assert!(refused(404, &"x ".repeat(9_000)).failure.detail.len() < 310);
    }

    #[test]
    fn errors_in_a_stream_are_told_by_their_kind() {
        for (error, class, passes, detail) in [
            (
                json!({ "type": "overloaded_error", "message": "Overloaded" }),
                Overloaded,
                true,
                "overloaded_error: Overloaded",
            ),
            (
                json!({ "type": "rate_limit_error", "message": "Number of tokens per minute" }),
                RateLimit,
                true,
                "rate_limit_error: Number of tokens per minute",
            ),
            (
                json!({ "type": "invalid_request_error", "message": "prompt is too long" }),
                ContextOverflow,
                false,
                "invalid_request_error: prompt is too long",
            ),
            (
                json!({ "code": 502, "message": "away" }),
                Overloaded,
                true,
                "error: away",
            ),
            (json!("it broke"), Overloaded, true, "error: it broke"),
        ] {
            let trouble = Trouble::told(&error, 1_000);
            assert_eq!(trouble.failure.class, class, "{error}");
            assert_eq!(trouble.passes, passes, "{error}");
            assert_eq!(trouble.failure.detail, detail);
        }
    }
}
