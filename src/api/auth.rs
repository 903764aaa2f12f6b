//! Who may call. Without any token only this machine may, and no web page through its browser; with one, whoever shows a token whose
//! scope allows it. It never sees a stored token, only hashes, and it never says why a token was not good enough.

use super::problem::Problem;
use super::rate::Rates;
use super::route::Admission;
use crate::clock::now_ms;
use crate::model::token::{Scope, Token};
use crate::store::{Store, tokens};
use anyhow::Result;
use hyper::StatusCode;
use hyper::header::{
    AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, RETRY_AFTER,
    ToStrError, WWW_AUTHENTICATE,
};
use ring::digest::{SHA256, digest};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Instant;
use tokio::sync::watch;

/// What a browser keeps of somebody who has logged in: the token itself, so that no account of logins is needed and a revoked one opens
/// nothing any more.
pub const TOKEN_COOKIE: &str = "ralphd_token";

/// Who called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Somebody on this machine; there are no tokens.
    Local,
    /// The owner of a token.
    Named {
        id: String,
        name: String,
        scopes: Vec<Scope>,
    },
    /// Anybody, where anybody may.
    Unknown,
}

impl Caller {
    /// Whether this is allowed to it.
    pub fn may(&self, scope: Scope) -> bool {
        match self {
            Caller::Local => true,
            Caller::Named { scopes, .. } => scopes.contains(&scope),
            Caller::Unknown => false,
        }
    }
}

/// The tokens as they are, and how often each was shown.
pub struct Gate {
    store: Store,
    hosts: Vec<String>,
    /// Changes when somebody may have made or revoked a token: that is always another process.
    changes: Mutex<watch::Receiver<u64>>,
    reading: tokio::sync::Mutex<()>,
    known: Mutex<HashMap<String, Token>>,
    rates: Rates,
}

/// What is known of a call before its body is read.
pub struct Knock<'a> {
    pub headers: &'a HeaderMap,
    pub loopback: bool,
    /// It would change something.
    pub changes: bool,
    /// It is for a page, by somebody's browser.
    pub page: bool,
}

impl Gate {
    pub async fn open(store: &Store, hosts: &[String], per_minute: u32) -> Result<Self> {
        let gate = Self {
            changes: Mutex::new(store.foreign_commits()),
            store: store.clone(),
            hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            reading: tokio::sync::Mutex::default(),
            known: Mutex::default(),
            rates: Rates::new(per_minute),
        };
        gate.read().await?;
        Ok(gate)
    }

    /// Whether anybody can show a token that opens something.
    pub fn has_tokens(&self) -> bool {
        let now_ms = now_ms();
        lock(&self.known).values().any(|token| token.holds(now_ms))
    }

    /// Whether a token is needed. Also when the last one has run out: only who revokes it opens the door, never time alone.
    pub fn is_guarded(&self) -> bool {
        let known = lock(&self.known);
        known.values().any(|token| token.revoked_at_ms.is_none())
    }

    async fn read(&self) -> Result<()> {
        let all = self.store.read(tokens::all).await?;
        let by_hash = all.into_iter().map(|token| (token.hash.clone(), token));
        *lock(&self.known) = by_hash.collect();
        Ok(())
    }

    /// Reads the tokens again where they may have changed. Whoever comes meanwhile waits, and what could not be read is read by the
    /// next: a revoked token must not slip through.
    async fn refresh(&self) -> Result<()> {
        if !lock(&self.changes).has_changed().unwrap_or(false) {
            return Ok(());
        }
        let _reading = self.reading.lock().await;
        let seen = {
            let changes = lock(&self.changes);
            if !changes.has_changed().unwrap_or(false) {
                return Ok(());
            }
            let mut seen = changes.clone();
            seen.mark_unchanged();
            seen
        };
        self.read().await?;
        // What changed while it was read is still news to this one.
        *lock(&self.changes) = seen;
        Ok(())
    }

    /// Whether somebody who was let in would still be.
    pub async fn stays(&self, caller: &Caller) -> Result<bool> {
        self.refresh().await?;
        Ok(match caller {
            Caller::Unknown => true,
            Caller::Local => !self.is_guarded(),
            Caller::Named { id, .. } => {
                let known = lock(&self.known);
                let mut own = known.values().filter(|token| token.id == *id);
                own.any(|token| token.holds(now_ms()))
            }
        })
    }

    /// Lets a call in, or says why not.
    pub async fn admit(&self, admission: Admission, knock: &Knock<'_>) -> Result<Caller, Problem> {
        let Admission::Scope(scope) = admission else {
            return Ok(Caller::Unknown);
        };
        self.refresh().await?;
        // Cookies go along with whatever another page sends to this host.
        let foreign = is_foreign(knock.headers) && !self.is_configured(knock.headers);
        if knock.page && knock.changes && foreign {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                "a web page of another site may not act here",
            ));
        }
        let kept = || cookie(knock.headers, TOKEN_COOKIE).filter(|_| knock.page);
        match shown(knock.headers).or_else(kept) {
            Some(shown) => {
                let caller = self.recognise(&shown, scope).await?;
                // A page asks again and again by itself, as long as it is open.
                if let (Caller::Named { id, .. }, false) = (&caller, knock.page) {
                    self.count(id)?;
                }
                Ok(caller)
            }
            None if self.is_guarded() => {
                Err(unauthorized("show a token: 'Authorization: Bearer …'"))
            }
            None => self.trust(knock),
        }
    }

    /// The owner of a token, who may do this.
    pub async fn recognise(&self, shown: &str, scope: Scope) -> Result<Caller, Problem> {
        let hash = hash(shown);
        // That it was made a moment ago may not be known here yet, and its owner need not wait for that.
        if !lock(&self.known).contains_key(&hash) {
            self.read().await?;
        }
        let token = lock(&self.known).get(&hash).cloned();
        let token = token
            .filter(|token| token.holds(now_ms()))
            .ok_or_else(|| unauthorized("this token is not known, or holds no more"))?;
        if !token.scopes.contains(&scope) {
            let detail = format!(
                "this token may not {scope}; make one with 'ralphd token new NAME --scope {scope}'"
            );
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        Ok(Caller::Named {
            id: token.id,
            name: token.name,
            scopes: token.scopes,
        })
    }

    fn count(&self, token: &str) -> Result<(), Problem> {
        self.rates.count(token, Instant::now()).map_err(|wait| {
            let seconds = wait.as_secs() + 1;
            let detail = format!("too many calls with this token; come again in {seconds} s");
            let after = HeaderValue::from(seconds);
            Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).with(RETRY_AFTER, after)
        })
    }

    /// Without tokens: only from here, and not for a page of somebody else in a browser that is here.
    fn trust(&self, knock: &Knock<'_>) -> Result<Caller, Problem> {
        if !knock.loopback {
            return Err(unauthorized(
                "without a token only this machine itself is answered; make one with 'ralphd token new NAME'",
            ));
        }
        let host = knock.headers.get(HOST).and_then(|host| host.to_str().ok());
        if !host.is_some_and(|host| self.is_own(host)) {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                "without a token this is answered only under localhost, an IP address, or a name of [http] hosts",
            ));
        }
        let from_elsewhere = knock
            .headers
            .get("sec-fetch-site")
            .is_some_and(|site| site != "same-origin" && site != "none");
        if is_foreign(knock.headers) || (from_elsewhere && knock.changes) {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                "a web page of another site may not call without a token",
            ));
        }
        Ok(Caller::Local)
    }

    /// The name in the origin of a call is one under which this machine was said to be known: a proxy may have called it otherwise.
    fn is_configured(&self, headers: &HeaderMap) -> bool {
        let origin = text(headers, &ORIGIN).and_then(Result::ok);
        let name = origin.and_then(|origin| Some(host_name(origin.split_once("://")?.1)));
        name.is_some_and(|name| self.hosts.contains(&name.to_ascii_lowercase()))
    }

    fn is_own(&self, host: &str) -> bool {
        let name = host_name(host).to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']');
        address.parse::<IpAddr>().is_ok() || name == "localhost" || self.hosts.contains(&name)
    }
}

/// The name of a host without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|letter| letter.is_ascii_digit()) => name,
        _ => host,
    }
}

/// It is sent by a page of another site.
fn is_foreign(headers: &HeaderMap) -> bool {
    match text(headers, &ORIGIN) {
        None => false,
        Some(Err(_)) => true,
        Some(Ok(origin)) => !is_origin_of(origin, text(headers, &HOST).and_then(Result::ok)),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Result<&'a str, ToStrError>> {
    headers.get(name).map(HeaderValue::to_str)
}

fn is_origin_of(origin: &str, host: Option<&str>) -> bool {
    let own = origin.split_once("://").map(|(_, rest)| rest);
    own.is_some() && own == host
}

/// What the caller shows of itself.
fn shown(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().unwrap_or("");
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    match scheme.eq_ignore_ascii_case("bearer") {
        true => Some(token.trim().to_owned()),
        false => Some(String::new()),
    }
}

/// The value of a cookie.
pub fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(COOKIE).iter();
    let mut pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    Some(value.trim().to_owned())
}

fn unauthorized(detail: &str) -> Problem {
    let scheme = HeaderValue::from_static("Bearer");
    Problem::new(StatusCode::UNAUTHORIZED, detail).with(WWW_AUTHENTICATE, scheme)
}

/// What is kept of a token. It is a random number of 256 bits: nothing slower is needed.
pub fn hash(token: &str) -> String {
    let digest = digest(&SHA256, token.as_bytes());
    digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_ports() {
        for (host, name) in [
            ("localhost", "localhost"),
            ("localhost:7717", "localhost"),
            ("[::1]:7717", "[::1]"),
            ("[::1]", "[::1]"),
            ("127.0.0.1:1", "127.0.0.1"),
        ] {
            assert_eq!(host_name(host), name);
        }
    }

    #[test]
    fn a_hash_is_the_published_one() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash("abc"), expected);
    }

    #[test]
    fn origins_are_compared_with_the_host() {
        for (origin, host, same) in [
            ("http://localhost:7717", Some("localhost:7717"), true),
            ("http://evil.example", Some("localhost:7717"), false),
            ("http://localhost:8000", Some("localhost:7717"), false),
            ("null", Some("null"), false),
            ("http://localhost", None, false),
        ] {
            assert_eq!(is_origin_of(origin, host), same, "{origin}");
        }
    }
}
