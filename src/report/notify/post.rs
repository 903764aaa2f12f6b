//! Posts to an address that a stranger may have named: no redirect is followed, no proxy is asked, and only public addresses are
//! connected to unless the configuration says otherwise. A name is looked up here, and what it leads to is judged after that:
//! a name that leads elsewhere every time gains nothing.

use crate::model::address::{not_public, plainly_not_public, read};
use crate::model::notice::Refusal;
use crate::model::period::Period;
use crate::model::shorten::head;
use jiff::Timestamp;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, USER_AGENT};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections are kept for the notices that come together, and not longer.
const KEEP_IDLE: Duration = Duration::from_secs(2);
/// What is read of an answer: enough to see what is wrong.
const MAX_ANSWER_BYTES: usize = 4 * 1024;
const MAX_SHOWN_BYTES: usize = 200;

/// Something to be posted.
pub(super) struct Posting {
    url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
    timeout: Period,
    pub(super) allow_private: bool,
    /// Where `allow_private` is set.
    pub(super) section: String,
}

impl Posting {
    /// JSON for an address.
    pub(super) fn new(url: &str, body: String, timeout: Period) -> Result<Self, Refusal> {
        let url = read(url).map_err(|problem| format!("its address {problem}"))?;
        let mut headers = HeaderMap::new();
        let own_name = concat!("ralphd/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(own_name));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self {
            url,
            headers,
            body,
            timeout,
            allow_private: false,
            section: String::new(),
        })
    }

    fn is_plain(&self) -> bool {
        self.url.scheme() == "http"
    }
}

/// The ways to receivers, each made when it is first needed: for public addresses only or for all, and with or without certificates.
#[derive(Default)]
pub(super) struct Ways([OnceLock<Client>; 4]);

impl Ways {
    /// Posts once. Whatever the receiver says but yes is a refusal.
    pub(super) async fn post(&self, posting: Posting) -> Result<(), Refusal> {
        let (section, limit) = (posting.section.clone(), posting.timeout);
        // The client looks up names only; an address is connected to as it stands.
        if !posting.allow_private
            && let Some(private) = plainly_not_public(&posting.url)
        {
            return Err(refused(&private, &section));
        }
        let client = self.client(posting.allow_private, posting.is_plain())?;
        let request = client
            .post(posting.url)
            .headers(posting.headers)
            .body(posting.body);
        let answered = async {
            match request.send().await {
                Ok(response) => judge(response).await,
                Err(error) => Err(unreached(&error, &section)),
            }
        };
        match tokio::time::timeout(limit.to_duration(), answered).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!("no answer within {limit}").into()),
        }
    }

    fn client(&self, allow_private: bool, is_plain: bool) -> Result<&Client, Refusal> {
        let place = &self.0[usize::from(allow_private) * 2 + usize::from(is_plain)];
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let client = build(allow_private, is_plain)
            .map_err(|error| format!("cannot make an HTTP client: {}", causes(&error)))?;
        Ok(place.get_or_init(|| client))
    }
}

fn build(allow_private: bool, is_plain: bool) -> reqwest::Result<Client> {
    // Whoever comes second finds the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .redirect(redirect::Policy::none())
        // A proxy would connect to whatever it is told, beyond all judgement here.
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(KEEP_IDLE);
    if !allow_private {
        builder = builder.dns_resolver(Arc::new(PublicOnly));
    }
    if is_plain {
        // Nothing is signed there: a system without certificates will do, and none are read.
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

/// Looks names up, and keeps of what they lead to only what is public.
struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            Ok(public_of(&host, found)?)
        })
    }
}

fn public_of(host: &str, found: impl Iterator<Item = SocketAddr>) -> Result<Addrs, NotPublic> {
    let mut refused = None;
    let mut public = Vec::new();
    for address in found {
        match not_public(address.ip()) {
            None => public.push(address),
            Some(what) => {
                refused = Some(format!("{host} leads to {}, {what}", address.ip()));
            }
        }
    }
    match refused {
        Some(private) if public.is_empty() => Err(NotPublic(private)),
        _ => Ok(Box::new(public.into_iter())),
    }
}

/// A name that leads to no public address.
#[derive(Debug)]
struct NotPublic(String);

impl std::fmt::Display for NotPublic {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for NotPublic {}

fn refused(private: &str, section: &str) -> Refusal {
    format!("refused: {private}; set allow_private = true under {section} to allow it").into()
}

async fn judge(response: Response) -> Result<(), Refusal> {
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let asked = response.headers().get(RETRY_AFTER);
    let asked_ms = asked
        .and_then(|value| value.to_str().ok())
        .and_then(|text| asked_wait_ms(text, crate::clock::now_ms()));
    let said = match status.is_redirection() {
        true => "it redirects, and redirects are not followed".to_owned(),
        false => beginning(response).await,
    };
    let said = head(said.trim(), MAX_SHOWN_BYTES);
    let reason = match said {
        "" => format!("HTTP {}", status.as_u16()),
        said => format!("HTTP {}: {said}", status.as_u16()),
    };
    Err(Refusal {
        reason,
        asked_ms,
        for_good: status == StatusCode::GONE,
    })
}

async fn beginning(mut response: Response) -> String {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        body.extend_from_slice(&piece);
        if body.len() >= MAX_ANSWER_BYTES {
            break;
        }
    }
    body.truncate(MAX_ANSWER_BYTES);
    String::from_utf8_lossy(&body).into_owned()
}

/// `Retry-After`: seconds, or a date.
fn asked_wait_ms(text: &str, now_ms: i64) -> Option<i64> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(i64::from(seconds) * 1000);
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    let at: Timestamp = date.timestamp();
    Some((at.as_millisecond() - now_ms).max(0))
}

fn unreached(error: &reqwest::Error, section: &str) -> Refusal {
    let mut cause: Option<&dyn Error> = Some(error);
    while let Some(inner) = cause {
        if let Some(NotPublic(private)) = inner.downcast_ref::<NotPublic>() {
            return refused(private, section);
        }
        cause = inner.source();
    }
    format!("not reached: {}", causes(error)).into()
}

/// The innermost words say most; the outer ones repeat the address, which may be a secret.
fn causes(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    match innermost.downcast_ref::<reqwest::Error>() {
        Some(_) if error.is_timeout() => "it took too long".to_owned(),
        Some(_) => "the connection failed".to_owned(),
        None => innermost.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_public_addresses_only() {
        let found = |list: &[&str]| {
            let addresses = list
                .iter()
                .map(|text| SocketAddr::new(text.parse().unwrap(), 0));
            let kept = public_of("a.example", addresses.collect::<Vec<_>>().into_iter());
            kept.map(|kept| {
                kept.map(|address| address.ip().to_string())
                    .collect::<Vec<_>>()
            })
            .map_err(|NotPublic(private)| private)
        };
        assert_eq!(found(&["8.8.8.8"]), Ok(vec!["8.8.8.8".to_owned()]));
        assert_eq!(
            found(&["10.0.0.1", "8.8.8.8", "::1"]),
            Ok(vec!["8.8.8.8".to_owned()])
        );
        assert_eq!(
            found(&["169.254.169.254"]),
            Err("a.example leads to 169.254.169.254, a link-local address".to_owned())
        );
        assert!(found(&["::ffff:127.0.0.1", "fd00::1"]).is_err());
        assert_eq!(found(&[]), Ok(Vec::new()));
    }

    #[tokio::test]
    async fn a_name_is_judged_by_where_it_leads() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = build(false, true).unwrap();
        let url = format!("http://localhost:{port}/");
        let error = client.post(url).send().await.unwrap_err();
        let refusal = unreached(&error, "[callbacks]");
        let reason = &refusal.reason;
        assert!(
            reason.starts_with("refused: localhost leads to "),
            "{reason}"
        );
        assert!(
            reason.ends_with("set allow_private = true under [callbacks] to allow it"),
            "{reason}"
        );
        let nobody = tokio::time::timeout(Duration::ZERO, listener.accept()).await;
        assert!(nobody.is_err(), "somebody connected");
    }

    #[test]
    fn waits_are_asked_for_in_seconds_or_by_date() {
        let now_ms = 1_445_412_480_000;
        for (text, expected) in [
            ("120", Some(120_000)),
            (" 0 ", Some(0)),
            ("Wed, 21 Oct 2015 07:29:00 GMT", Some(60_000)),
            ("Wed, 21 Oct 2015 07:00:00 GMT", Some(0)),
            ("soon", None),
            ("-5", None),
        ] {
            assert_eq!(asked_wait_ms(text, now_ms), expected, "{text}");
        }
    }
}
