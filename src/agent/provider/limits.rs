//! When a limit ends, out of the headers of a refusal; where they say nothing, out of its words. It must not read a clock.

use crate::agent::stream::{reset_from_text, wait_ms};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::tz::TimeZone;
use std::collections::HashMap;

/// Headers of a response, names in lower case.
#[derive(Clone, Debug, Default)]
pub struct Headers(HashMap<String, String>);

impl Headers {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(headers: I) -> Self {
        let owned = headers
            .into_iter()
            .map(|(name, value)| (name.into().to_ascii_lowercase(), value.into()));
        Self(owned.collect())
    }
}

/// Pairs of headers: what is left of something, and when there will be more.
const ALLOWANCES: &[(&str, &str)] = &[
    (
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ),
    (
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-reset",
    ),
    (
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset",
    ),
    (
        "anthropic-ratelimit-output-tokens-remaining",
        "anthropic-ratelimit-output-tokens-reset",
    ),
    (
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    ),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
];

/// Numbers from here on are seconds, and from the next milliseconds, since 1970; below them they are seconds from now.
const EPOCH_SECONDS: f64 = 1e9;
const EPOCH_MILLISECONDS: f64 = 1e12;

/// The end of the limit, in milliseconds since 1970. What the server asks for comes before what it tells of its counters.
pub fn reset_at_ms(headers: &Headers, said: &str, now_ms: i64) -> Option<i64> {
    retry_after(headers, now_ms)
        .or_else(|| used_up_until(headers, now_ms))
        .or_else(|| reset_from_text(said, now_ms, &TimeZone::UTC))
}

fn retry_after(headers: &Headers, now_ms: i64) -> Option<i64> {
    let in_ms = headers
        .get("retry-after-ms")
        .and_then(|text| text.trim().parse::<f64>().ok())
        .filter(|ms| ms.is_finite() && *ms >= 0.0)
        .map(|ms| now_ms.saturating_add(ms as i64));
    in_ms.or_else(|| {
        let text = headers.get("retry-after")?.trim();
        instant(text, now_ms).or_else(|| http_date(text))
    })
}

/// The latest reset of all that is used up; where no remainder is told, of all that is told.
fn used_up_until(headers: &Headers, now_ms: i64) -> Option<i64> {
    let unified = headers
        .get("anthropic-ratelimit-unified-reset")
        .and_then(|text| instant(text.trim(), now_ms));
    let is_used_up = |remaining: &str| match headers.get(remaining) {
        Some(text) => text.trim().parse::<f64>().is_ok_and(|left| left <= 0.0),
        None => true,
    };
    let resets = ALLOWANCES
        .iter()
        .filter(|(remaining, _)| is_used_up(remaining))
        .filter_map(|(_, reset)| instant(headers.get(reset)?.trim(), now_ms));
    unified.into_iter().chain(resets).max()
}

/// «2», «1794797551», «6m0s», «2026-11-16T02:52:31Z».
fn instant(text: &str, now_ms: i64) -> Option<i64> {
    match text.parse::<f64>() {
        Ok(number) if !number.is_finite() || number < 0.0 => None,
        Ok(number) if number >= EPOCH_MILLISECONDS => Some(number as i64),
        Ok(number) if number >= EPOCH_SECONDS => Some((number * 1e3) as i64),
        Ok(number) => Some(now_ms.saturating_add((number * 1e3) as i64)),
        Err(_) => match text.parse::<Timestamp>() {
            Ok(at) => Some(at.as_millisecond()),
            Err(_) if text.starts_with(|first: char| first.is_ascii_digit()) => {
                wait_ms(text).map(|wait| now_ms.saturating_add(wait))
            }
            Err(_) => None,
        },
    }
}

fn http_date(text: &str) -> Option<i64> {
    let at = DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(at.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_words_tell_the_end() {
        let now_ms = 1_794_797_551_000;
        for (headers, said, expected_after_ms) in [
            (vec![("retry-after", "2")], "", Some(2_000)),
            (vec![("Retry-After", " 0.5 ")], "", Some(500)),
            (vec![("retry-after", "0")], "", Some(0)),
            (
                vec![("retry-after", "Mon, 16 Nov 2026 02:53:31 GMT")],
                "",
                Some(60_000),
            ),
            (
                vec![("retry-after-ms", "1500"), ("retry-after", "9")],
                "",
                Some(1_500),
            ),
            (
                vec![("anthropic-ratelimit-tokens-reset", "2026-11-16T02:52:41Z")],
                "",
                Some(10_000),
            ),
            (
                vec![
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-reset", "2026-11-16T02:52:36Z"),
                    ("anthropic-ratelimit-tokens-remaining", "500"),
                    ("anthropic-ratelimit-tokens-reset", "2026-11-16T02:59:41Z"),
                ],
                "",
                Some(5_000),
            ),
            (
                vec![("anthropic-ratelimit-unified-reset", "1794797651")],
                "",
                Some(100_000),
            ),
            (
                vec![
                    ("x-ratelimit-remaining-requests", "7"),
                    ("x-ratelimit-reset-requests", "1h0m0s"),
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "6m0s"),
                ],
                "",
                Some(360_000),
            ),
            (vec![("x-ratelimit-reset-requests", "120ms")], "", Some(120)),
            (
                vec![("x-ratelimit-reset", "1794797561000")],
                "",
                Some(10_000),
            ),
            (vec![], "Please try again in 20s.", Some(20_000)),
            (vec![("retry-after", "soon")], "", None),
            (vec![("retry-after", "-3")], "", None),
            (vec![], "slow down", None),
        ] {
            let headers_told = format!("{headers:?}");
            let headers: Headers = headers.into_iter().collect();
            let expected = expected_after_ms.map(|after| now_ms + after);
            assert_eq!(
                reset_at_ms(&headers, said, now_ms),
                expected,
                "{headers_told} {said}"
            );
        }
    }
}
