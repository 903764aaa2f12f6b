//! The way in and the way to look and act over HTTP: a small route table over hyper, one file a resource.
//! It must not decide anything that the command line would decide otherwise: both call the same rooms.

mod act;
pub mod auth;
mod call;
mod calls;
mod dashboard;
mod doorstep;
mod events;
mod feed;
mod harness;
mod health;
mod hooks;
mod listen;
mod metrics;
mod openapi;
mod patience;
mod problem;
mod rate;
mod reply;
mod route;
mod sessions;
mod wait;

pub use listen::{ADDRESS_FILE, Listener, Unguarded};

use crate::engine::House;
use crate::report::metrics::Metrics;
use crate::trigger::webhook::Hooks;
use anyhow::Result;
use auth::{Caller, Gate, Knock};
use call::Call;
use calls::Calls;
use dashboard::Dashboard;
use feed::Feed;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use problem::Problem;
use reply::{Reply, ReplyBody};
use route::{Miss, Route};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tracing::Instrument;

const CALL_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_CALL_ID_BYTES: usize = 64;

/// What all routes share.
pub struct Api {
    house: Arc<House>,
    gate: Gate,
    hooks: Hooks,
    feed: Arc<Feed>,
    metrics: Metrics,
    calls: Calls,
    dashboard: Dashboard,
    routes: Vec<Route>,
    description: OnceLock<Bytes>,
    /// Turns true when the daemon goes down: streams end, and whoever waits is answered with what there is.
    shutdown: watch::Receiver<bool>,
}

impl Api {
    pub async fn open(
        house: Arc<House>,
        hooks: Hooks,
        shutdown: watch::Receiver<bool>,
    ) -> Result<Arc<Self>> {
        let http = &house.config.http;
        let gate = Gate::open(&house.store, &http.hosts, http.requests_per_minute).await?;
        let feed = Feed::new(&house.store);
        Ok(Arc::new(Self {
            gate,
            hooks,
            metrics: Metrics::start(&house).await?,
            calls: Calls::default(),
            dashboard: Dashboard::new(&feed)?,
            feed,
            routes: routes(),
            description: OnceLock::new(),
            shutdown,
            house,
        }))
    }

    fn max_body_bytes(&self) -> u64 {
        self.house.config.http.max_body_bytes
    }

    /// Answers one call.
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> Response<ReplyBody> {
        let begun = Instant::now();
        let id = call_id(request.headers());
        let span = tracing::info_span!("call", %id, method = %request.method(), path = request.uri().path(), caller = tracing::field::Empty);
        let answer = async {
            let found = route::find(&self.routes, request.method(), request.uri().path());
            let called = found
                .as_ref()
                .ok()
                .map(|(route, _)| (&route.method, route.path));
            let page = match &found {
                Ok((route, _)) => route.page,
                Err(_) => is_for_a_browser(request.headers()),
            };
            let wanted = request.uri().clone();
            let reply = self.route(request, peer).await;
            let reply = reply.unwrap_or_else(|problem| match page {
                true => self.dashboard.refuse(problem, &wanted, &id),
                false => problem.reply(&id),
            });
            self.calls.count(called, reply.status, begun.elapsed());
            tracing::debug!(status = reply.status.as_u16(), "answered");
            reply
        };
        let reply = answer.instrument(span).await;
        match HeaderValue::from_str(&id) {
            Ok(id) => reply.with(CALL_ID, id).into_response(),
            Err(_) => reply.into_response(),
        }
    }

    async fn route(
        self: &Arc<Self>,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> Result<Reply, Problem> {
        let (head, body) = request.into_parts();
        let path = head.uri.path();
        let (route, parts) = match route::find(&self.routes, &head.method, path) {
            Ok(found) => found,
            Err(miss) => return missed(&miss, &head.method, path),
        };
        let loopback = is_from_here(peer, &head.headers);
        let knock = Knock {
            headers: &head.headers,
            loopback,
            changes: route.method != Method::GET,
            page: route.page,
        };
        let caller = self.gate.admit(route.admission, &knock).await?;
        if let Caller::Named { name, .. } = &caller {
            tracing::Span::current().record("caller", name);
        }
        let query = query_of(head.uri.query().unwrap_or(""), route)?;
        let limit = (route.limit)(self, &parts)?;
        let body = match route.method == Method::GET {
            true => Bytes::new(),
            false => self.body(body, limit).await?,
        };
        let call = Call {
            parts,
            query,
            headers: head.headers,
            body,
            loopback,
            caller,
        };
        (route.action)(self.clone(), call).await
    }

    /// The whole body, as long as it is not too large and does not take too long.
    async fn body(&self, body: Incoming, limit: u64) -> Result<Bytes, Problem> {
        let too_large = || {
            let detail = format!("the body has more than {limit} bytes");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
        };
        if body.size_hint().lower() > limit {
            return Err(too_large());
        }
        let whole = Limited::new(body, usize::try_from(limit).unwrap_or(usize::MAX)).collect();
        let patience = Duration::from(self.house.config.http.client_timeout);
        match tokio::time::timeout(patience, whole).await {
            Ok(Ok(whole)) => Ok(whole.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
            Ok(Err(_)) => Err(Problem::new(
                StatusCode::BAD_REQUEST,
                "the body broke off before its end",
            )),
            Err(_) => Err(Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "the body took too long to come",
            )),
        }
    }
}

fn routes() -> Vec<Route> {
    let mut routes = sessions::routes();
    routes.extend(act::routes());
    routes.extend(events::routes());
    routes.extend(hooks::routes());
    routes.extend(harness::routes());
    routes.extend(health::routes());
    routes.extend(metrics::routes());
    routes.extend(openapi::routes());
    routes.extend(dashboard::routes());
    routes
}

fn missed(miss: &Miss, method: &Method, path: &str) -> Result<Reply, Problem> {
    match miss {
        Miss::Nowhere => {
            let shown: String = path.chars().take(200).collect();
            let detail = format!("there is nothing at {shown}; see /openapi.json");
            Err(Problem::not_found(detail))
        }
        Miss::Method(allowed) => {
            let names = allow(allowed);
            let header = HeaderValue::from_str(&names).unwrap_or(HeaderValue::from_static("GET"));
            if *method == Method::OPTIONS {
                return Ok(Reply::empty(StatusCode::NO_CONTENT).with(ALLOW, header));
            }
            let detail = format!("{method} is not for this place; it takes {names}");
            Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail).with(ALLOW, header))
        }
    }
}

/// Where one can look, one can look at the head alone; and what there is to do may be asked everywhere.
fn allow(methods: &[Method]) -> String {
    let mut names = Vec::new();
    for method in methods {
        names.push(method.as_str());
        if *method == Method::GET {
            names.push(Method::HEAD.as_str());
        }
    }
    names.push(Method::OPTIONS.as_str());
    names.join(", ")
}

/// What is asked for beside the path; a name that the route does not know, or that is there twice, is a mistake, not a wish to be
/// passed over.
fn query_of(query: &str, route: &Route) -> Result<Vec<(String, String)>, Problem> {
    let given: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    let known: Vec<&str> = route
        .told
        .parameters
        .iter()
        .filter(|parameter| parameter.place == "query")
        .map(|parameter| parameter.name)
        .collect();
    for (place, (name, _)) in given.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            let shown: String = name.chars().take(100).collect();
            let known = match known.is_empty() {
                true => "it takes none".to_owned(),
                false => format!("known: {}", known.join(", ")),
            };
            let detail = format!("unknown parameter '{shown}'; {known}");
            return Err(Problem::unfit(detail));
        }
        if given[..place].iter().any(|(earlier, _)| earlier == name) {
            let detail = format!("{name}: is given more than once");
            return Err(Problem::unfit(detail));
        }
    }
    Ok(given)
}

/// Whoever reads the answer would rather have a page.
fn is_for_a_browser(headers: &HeaderMap) -> bool {
    let wanted = headers.get(ACCEPT).and_then(|wanted| wanted.to_str().ok());
    wanted.is_some_and(|wanted| wanted.contains("text/html"))
}

/// From this very machine, and not passed on for somebody else by a proxy on it.
fn is_from_here(peer: SocketAddr, headers: &HeaderMap) -> bool {
    let passed_on = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];
    peer.ip().to_canonical().is_loopback()
        && !passed_on.iter().any(|name| headers.contains_key(*name))
}

/// The caller's own id for the call where it is a sane one, else a new one.
fn call_id(headers: &HeaderMap) -> String {
    let given = headers.get(CALL_ID).and_then(|id| id.to_str().ok());
    let sane = |id: &&str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        (1..=MAX_CALL_ID_BYTES).contains(&id.len()) && id.bytes().all(plain)
    };
    given
        .filter(sane)
        .map_or_else(crate::clock::new_id, str::to_owned)
}
