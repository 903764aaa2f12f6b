//! What a caller gets: a status, headers, and a body that is there at once or comes bit by bit.

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use std::convert::Infallible;

pub type ReplyBody = UnsyncBoxBody<Bytes, Infallible>;

/// An answer on its way out.
pub struct Reply {
    pub status: StatusCode,
    headers: HeaderMap,
    body: ReplyBody,
}

impl Reply {
    /// A value as JSON.
    pub fn json(status: StatusCode, value: &impl Serialize) -> Self {
        // What the API sends are structs of its own with text keys: they are always JSON.
        let text = serde_json::to_vec(value).unwrap_or_default();
        Self::of(status, "application/json", Full::new(text.into()))
    }

    pub fn ok(value: &impl Serialize) -> Self {
        Self::json(StatusCode::OK, value)
    }

    /// Nothing but a status.
    pub fn empty(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: Full::default().boxed_unsync(),
        }
    }

    /// A body of any kind.
    pub fn of(
        status: StatusCode,
        content_type: &'static str,
        body: impl Body<Data = Bytes, Error = Infallible> + Send + 'static,
    ) -> Self {
        let mut reply = Self::empty(status);
        reply.body = body.boxed_unsync();
        reply.with(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// As hyper sends it. Unless it says otherwise, nothing of it may be kept by those in between: it is about work that goes on.
    pub fn into_response(self) -> Response<ReplyBody> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        let headers = response.headers_mut();
        let kept = headers.entry(CACHE_CONTROL);
        kept.or_insert(HeaderValue::from_static("no-store"));
        headers.insert(
            hyper::header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        response
    }
}
