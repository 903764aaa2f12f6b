//! How a page is made and sent: the templates, the frame around every page, the headers that keep strangers' text from being more than
//! text, and refusals as pages.

use super::Dashboard;
use super::form::{FORM_COOKIE, proof};
use crate::api::Api;
use crate::api::auth::{Caller, cookie};
use crate::api::call::Call;
use crate::api::problem::Problem;
use crate::api::reply::Reply;
use crate::model::harmless::harmless_lines;
use crate::model::token::Scope;
use crate::secrets::random_word;
use anyhow::{Context, Result};
use http_body_util::Full;
use hyper::header::{HeaderName, HeaderValue, LOCATION, SET_COOKIE};
use hyper::{StatusCode, Uri};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Nothing but what this program itself sends, and no script or style inside of a page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const HTML: &str = "text/html; charset=utf-8";
/// The header by which an open page asks for its newest state.
const LIVE: &str = "x-live";
/// Open pages that look again after the same ring and within this time are shown the same.
const KEPT_FOR: Duration = Duration::from_secs(1);
const MAX_KEPT: usize = 64;
const RANDOM_BYTES: usize = 16;

macro_rules! template {
    ($($name:literal),*) => { [$(($name, include_str!(concat!("html/", $name)))),*] };
}

pub fn templates() -> Result<Environment<'static>> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    // Lines that only steer leave nothing in the page.
    let mut steering = SyntaxConfig::builder();
    steering.trim_blocks(true).lstrip_blocks(true);
    templates.set_syntax(steering.build()?);
    let all = template!(
        "frame.html",
        "macros.html",
        "list.html",
        "session.html",
        "log.html",
        "changes.html",
        "new.html",
        "schedules.html",
        "agents.html",
        "costs.html",
        "login.html",
        "refused.html"
    );
    for (name, text) in all {
        templates
            .add_template(name, text)
            .with_context(|| format!("the template {name}"))?;
    }
    Ok(templates)
}

/// A page to be shown.
pub struct Page<'a, V> {
    pub template: &'static str,
    pub title: &'a str,
    /// The entry of the menu that it belongs to.
    pub menu: &'static str,
    pub view: V,
}

/// Who looks, and what is allowed to them.
#[derive(Clone, Debug, Serialize)]
pub struct Visitor {
    /// Nothing where no token is needed.
    name: Option<String>,
    pub may_submit: bool,
    pub may_act: bool,
    /// What their forms carry.
    proof: String,
}

impl Visitor {
    fn of(call: &Call, kept: &str) -> Self {
        Self {
            name: match &call.caller {
                Caller::Named { name, .. } => Some(harmless_lines(name)),
                _ => None,
            },
            may_submit: call.caller.may(Scope::Submit),
            may_act: call.caller.may(Scope::Act),
            proof: proof(kept, &call.headers),
        }
    }
}

/// All that a template sees.
#[derive(Serialize)]
struct Framed<'a, V> {
    title: &'a str,
    menu: &'static str,
    body: &'static str,
    visitor: Option<&'a Visitor>,
    view: &'a V,
}

/// Newest states of pages, for those who have them open: many look at the same thing at the same time.
pub struct Kept {
    pages: Mutex<HashMap<String, KeptPage>>,
    /// Stands for the proof of whoever looks, which is not the same for all.
    placeholder: String,
}

/// One of them.
struct KeptPage {
    /// The last ring before it was made: it has everything that was rung for.
    ring: u64,
    made: Instant,
    text: String,
}

impl KeptPage {
    fn holds(&self, ring: u64) -> bool {
        self.ring == ring && self.made.elapsed() < KEPT_FOR
    }
}

impl Kept {
    pub fn new() -> Result<Self> {
        Ok(Self {
            pages: Mutex::default(),
            placeholder: random_word(RANDOM_BYTES)?,
        })
    }
}

/// An open page asks for its newest state.
pub fn is_live(call: &Call) -> bool {
    call.headers.contains_key(LIVE)
}

impl Api {
    /// The page for whoever called.
    pub(super) fn page(
        &self,
        call: &Call,
        status: StatusCode,
        page: &Page<'_, impl Serialize>,
    ) -> Result<Reply, Problem> {
        let known = cookie(&call.headers, FORM_COOKIE);
        let kept = match &known {
            Some(kept) => kept.clone(),
            None => random_word(RANDOM_BYTES)?,
        };
        let visitor = Visitor::of(call, &kept);
        let reply = html(status, self.dashboard.frame(page, Some(&visitor))?);
        Ok(match known {
            Some(_) => reply,
            None => reply.with(SET_COOKIE, set_cookie(call, FORM_COOKIE, &kept, None)?),
        })
    }

    /// The newest state of a page, without what is around it. Made once for all who ask at about the same time.
    pub(super) async fn live<V: Serialize>(
        &self,
        call: &Call,
        of: &str,
        template: &'static str,
        look: impl AsyncFnOnce() -> Result<V, Problem>,
    ) -> Result<Reply, Problem> {
        let kept = cookie(&call.headers, FORM_COOKIE).unwrap_or_default();
        let visitor = Visitor::of(call, &kept);
        let Kept { pages, placeholder } = &self.dashboard.kept;
        let key = format!("{of}\n{} {}", visitor.may_submit, visitor.may_act);
        let mut pages = pages.lock().await;
        let ring = self.dashboard.pulse.rings();
        if let Some(kept) = pages.get(&key).filter(|kept| kept.holds(ring)) {
            let shown = kept.text.replace(placeholder, &visitor.proof);
            return Ok(html(StatusCode::OK, shown));
        }
        let anybody = Visitor {
            proof: placeholder.clone(),
            ..visitor.clone()
        };
        let (made, view) = (Instant::now(), look().await?);
        let text = self.dashboard.render(template, &anybody, &view)?;
        let shown = text.replace(placeholder, &visitor.proof);
        if pages.len() >= MAX_KEPT {
            pages.retain(|_, kept| kept.holds(ring));
        }
        if pages.len() < MAX_KEPT {
            pages.insert(key, KeptPage { ring, made, text });
        }
        Ok(html(StatusCode::OK, shown))
    }
}

impl Dashboard {
    fn frame(&self, page: &Page<'_, impl Serialize>, visitor: Option<&Visitor>) -> Result<String> {
        let framed = Framed {
            title: page.title,
            menu: page.menu,
            body: page.template,
            visitor,
            view: &page.view,
        };
        let template = self.templates.get_template("frame.html")?;
        Ok(template.render(Serde(&framed))?)
    }

    fn render(
        &self,
        template: &'static str,
        visitor: &Visitor,
        view: &impl Serialize,
    ) -> Result<String> {
        let framed = Framed {
            title: "",
            menu: "",
            body: template,
            visitor: Some(visitor),
            view,
        };
        Ok(self
            .templates
            .get_template(template)?
            .render(Serde(&framed))?)
    }

    /// A refusal for people: whoever is not known is led to the door, the others are told why.
    pub fn refuse(&self, problem: Problem, wanted: &Uri, call_id: &str) -> Reply {
        if problem.status == StatusCode::UNAUTHORIZED {
            let wanted = wanted.path_and_query().map_or("/", |place| place.as_str());
            let next: String = form_urlencoded::byte_serialize(wanted.as_bytes()).collect();
            return see_other(&format!("/login?next={next}"));
        }
        let title = problem.status.canonical_reason().unwrap_or("Not done");
        let page = Page {
            template: "refused.html",
            title,
            menu: "",
            view: Refused {
                lines: problem
                    .lines()
                    .iter()
                    .map(|line| harmless_lines(line))
                    .collect(),
            },
        };
        match self.frame(&page, None) {
            Ok(text) => html(problem.status, text),
            Err(error) => {
                tracing::error!("a page could not be made: {error:#}");
                problem.reply(call_id)
            }
        }
    }
}

#[derive(Serialize)]
struct Refused {
    lines: Vec<String>,
}

/// Sends a browser elsewhere.
pub fn see_other(place: &str) -> Reply {
    let place = HeaderValue::from_str(place).unwrap_or(HeaderValue::from_static("/"));
    Reply::empty(StatusCode::SEE_OTHER).with(LOCATION, place)
}

/// A cookie for this site alone, which no script can read and no other site's form can send.
pub fn set_cookie(
    call: &Call,
    name: &str,
    value: &str,
    max_age_seconds: Option<u64>,
) -> Result<HeaderValue, Problem> {
    let mut line = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax");
    if let Some(seconds) = max_age_seconds {
        line.push_str(&format!("; Max-Age={seconds}"));
    }
    let scheme = call.headers.get("x-forwarded-proto");
    if scheme.is_some_and(|scheme| scheme == "https") {
        line.push_str("; Secure");
    }
    HeaderValue::from_str(&line).map_err(|_| Problem::unfit("this is no token"))
}

fn html(status: StatusCode, text: String) -> Reply {
    let headers = [
        ("content-security-policy", POLICY),
        ("referrer-policy", "same-origin"),
        ("x-frame-options", "DENY"),
        ("cross-origin-opener-policy", "same-origin"),
    ];
    let reply = Reply::of(status, HTML, Full::new(text.into()));
    headers.into_iter().fold(reply, |reply, (name, value)| {
        reply.with(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    })
}
