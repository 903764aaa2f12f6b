//! How often each route was called and how it answered, for whoever watches the daemon. The path that a caller wrote is never kept:
//! only the route's own.

use crate::model::histogram::Histogram;
use crate::report::metrics::{Kind, Page};
use hyper::{Method, StatusCode};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// From an answer out of memory to one that was waited for.
const SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];
/// Where nothing is.
const NOWHERE: &str = "none";

/// A route, and what it answered.
type Answered = (&'static str, String, u16);

/// The calls since the start.
pub struct Calls {
    counts: Mutex<BTreeMap<Answered, u64>>,
    seconds: Histogram,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            counts: Mutex::default(),
            seconds: Histogram::new(SECONDS),
        }
    }
}

impl Calls {
    /// A call was answered, as far as its head.
    pub fn count(
        &self,
        route: Option<(&Method, &'static str)>,
        status: StatusCode,
        took: Duration,
    ) {
        self.seconds.observe(took.as_secs_f64());
        // Only the methods of the table: a caller may invent others.
        let (path, method) = match route {
            Some((method, path)) => (path, method.to_string()),
            None => (NOWHERE, String::new()),
        };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((path, method, status.as_u16())).or_default() += 1;
    }

    pub fn write(&self, page: &mut Page) {
        let mut requests = page.family(
            "ralphd_http_requests_total",
            Kind::Counter,
            "Calls of the HTTP API, by route, method and status.",
        );
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for ((path, method, status), count) in counts.iter() {
            let status = status.to_string();
            let labels = [("route", *path), ("method", method), ("status", &status)];
            requests.value(&labels, *count as f64);
        }
        let mut seconds = page.family(
            "ralphd_http_request_duration_seconds",
            Kind::Histogram,
            "How long calls took until their answer began, waiting that was asked for included.",
        );
        seconds.histogram(&[], &self.seconds.counted());
    }
}
