//! One call as the routes see it: the parts of its path, its query and its body. Everything by strangers is checked on the way out of it.

use super::auth::Caller;
use super::problem::Problem;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use serde::de::DeserializeOwned;
use std::str::FromStr;

/// A call that was let in.
pub struct Call {
    /// The values of `{…}` in the route's path.
    pub parts: Vec<String>,
    pub query: Vec<(String, String)>,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// It comes from this very machine.
    pub loopback: bool,
    pub caller: Caller,
}

impl Call {
    /// The first `{…}` of the path.
    pub fn part(&self) -> &str {
        self.parts.first().map_or("", String::as_str)
    }

    /// A value of the query, as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A value of the query that must be of a kind.
    pub fn value<T: FromStr>(&self, name: &str, what: &str) -> Result<Option<T>, Problem> {
        let parse = |text: &str| {
            text.parse().map_err(|_| {
                let shown: String = text.chars().take(100).collect();
                Problem::unfit(format!("{name}: must be {what}, is '{shown}'"))
            })
        };
        self.text(name).map(parse).transpose()
    }

    /// A whole number of the query between two bounds.
    pub fn number(
        &self,
        name: &str,
        bounds: std::ops::RangeInclusive<i64>,
    ) -> Result<Option<i64>, Problem> {
        let what = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        let number: Option<i64> = self.value(name, &what)?;
        match number {
            Some(number) if !bounds.contains(&number) => Err(Problem::unfit(format!(
                "{name}: must be {what}, is {number}"
            ))),
            number => Ok(number),
        }
    }

    /// The body as text.
    pub fn body_text(&self) -> Result<&str, Problem> {
        std::str::from_utf8(&self.body)
            .map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "the body is not UTF-8"))
    }

    /// The body as JSON of a known shape; an empty body is an empty object.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        self.expect_json()?;
        let text = match self.body_text()?.trim() {
            "" => "{}",
            text => text,
        };
        // A list would be taken for the fields in their order.
        if text.starts_with('[') {
            return Err(Problem::unfit("the body: must be an object, is a list"));
        }
        serde_json::from_str(text).map_err(|error| match error.is_data() {
            true => Problem::unfit(format!("the body: {error}")),
            false => Problem::new(
                StatusCode::BAD_REQUEST,
                format!("the body is not JSON: {error}"),
            ),
        })
    }

    /// The kind of the body, in lower case and without its parameters; nothing where it was not told.
    pub fn content_type(&self) -> Option<String> {
        let given = self.headers.get(CONTENT_TYPE)?.to_str().unwrap_or("?");
        let kind = given.split(';').next().unwrap_or_default();
        Some(kind.trim().to_ascii_lowercase())
    }

    /// Other kinds are refused: a web page of others can send some of them without asking, and curl sends forms by itself.
    pub fn expect_json(&self) -> Result<(), Problem> {
        match self.content_type() {
            None => Ok(()),
            Some(kind) if kind == "application/json" || kind.ends_with("+json") => Ok(()),
            Some(kind) => Err(unsupported(&kind, "application/json")),
        }
    }
}

/// A body of a kind that is not taken here.
pub fn unsupported(kind: &str, known: &str) -> Problem {
    let shown: String = kind.chars().take(100).collect();
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        format!("a body of {shown} is not taken here; send it with 'content-type: {known}'"),
    )
}
