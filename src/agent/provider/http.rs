//! What both dialects share: a question goes out, an answer is listened to, and what fails in passing is asked again.
//! It must not know a dialect, and no key leaves it but in the header of a request to the one server.

use super::body::{Body, Complaint, Reading};
use super::endpoint::{Endpoint, Notice, is_loopback};
use super::limits::Headers;
use super::trouble::Trouble;
use crate::clock;
use crate::model::backoff::Waited;
use crate::model::conversation::{Reply, StepUsage};
use crate::model::mask::Mask;
use anyhow::{Context, Result, anyhow};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use reqwest::{Client, Request, Response, Url, redirect};
use serde_json::Value as Json;
use std::error::Error;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const MAX_REFUSAL_BYTES: usize = 64 << 10;
const MAX_REDIRECTIONS: usize = 3;
/// After its last word a server closes the answer, so that the connection can be used again; one that does not is not waited for.
const FAREWELL: Duration = Duration::from_millis(100);

/// The way to one server.
pub(super) struct Line {
    client: Client,
    url: Url,
    headers: HeaderMap,
    endpoint: Endpoint,
    mask: Mask,
}

impl Line {
    /// `key` says in which header a key goes out, and as what.
    pub(super) fn new(
        url: Url,
        endpoint: Endpoint,
        key: fn(&str) -> (HeaderName, String),
    ) -> Result<Self> {
        let mut headers = HeaderMap::new();
        let own_name = concat!("ralphd/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(own_name));
        if let Some((name, value)) = endpoint.given_key().map(key) {
            let value = HeaderValue::from_str(&value);
            let mut value =
                value.map_err(|_| anyhow!("the key holds characters that no header can carry"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let keys = endpoint.given_key().map(str::to_owned);
        Ok(Self {
            client: client(&url, &endpoint)?,
            url,
            headers,
            mask: Mask::new(keys),
            endpoint,
        })
    }

    pub(super) fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
        self
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// Asks until there is a reply, or a failure that asking again does not mend. `hopeless` are those which look as if they passed,
    /// but want to be asked otherwise.
    pub(super) async fn ask(
        &self,
        body: &Json,
        hopeless: impl Fn(&Trouble) -> bool + Send,
        begin: impl Fn() -> Box<dyn Reading> + Send,
    ) -> Result<Reply, Trouble> {
        let text = body.to_string();
        let mut waited = Waited::default();
        loop {
            let mut trouble = match self.attempt(text.clone(), begin()).await {
                Ok(reply) => return Ok(reply),
                Err(trouble) => trouble,
            };
            let next = self.endpoint.patience.next(waited, trouble.asked_ms);
            let may_pass = trouble.passes && !hopeless(&trouble);
            let spent = trouble.spent;
            let failure = &mut trouble.failure;
            let Some(next) = next.filter(|_| may_pass) else {
                if spent != StepUsage::default() {
                    self.tell(waited.times, 0, &failure.detail, spent);
                }
                if waited.times > 0 {
                    let tries = waited.times + 1;
                    failure.detail = format!("{} ({tries} tries)", failure.detail);
                }
                return Err(trouble);
            };
            waited = next;
            self.tell(waited.times, waited.last_ms, &failure.detail, spent);
            sleep(Duration::from_millis(waited.last_ms.unsigned_abs())).await;
        }
    }

    fn tell(&self, retry: u32, wait_ms: i64, why: &str, spent: StepUsage) {
        if let Some(listener) = &self.endpoint.notice {
            listener(Notice {
                wait_ms,
                retry,
                why: why.to_owned(),
                spent,
            });
        }
    }

    async fn attempt(&self, body: String, mut reading: Box<dyn Reading>) -> Result<Reply, Trouble> {
        let limit = self.endpoint.total_timeout;
        let tried = timeout(limit, self.try_once(body, reading.as_mut())).await;
        let too_long =
            |_| Trouble::network(format!("the answer took longer than {}", seconds(limit)));
        match tried.map_err(too_long).flatten() {
            Ok(()) => Ok(reading.into_reply()),
            Err(trouble) => Err(Trouble {
                spent: reading.usage(),
                ..trouble
            }),
        }
    }

    async fn try_once(&self, body: String, reading: &mut dyn Reading) -> Result<(), Trouble> {
        let answered = self
            .within(
                self.endpoint.first_byte_timeout,
                self.client.execute(self.request(body)),
            )
            .await?;
        let response = answered.map_err(|error| self.unreached(&error))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        self.listen(response, reading).await
    }

    fn request(&self, body: String) -> Request {
        let mut request = Request::new(reqwest::Method::POST, self.url.clone());
        *request.headers_mut() = self.headers.clone();
        let json = HeaderValue::from_static("application/json");
        request
            .headers_mut()
            .insert(reqwest::header::CONTENT_TYPE, json);
        *request.body_mut() = Some(body.into());
        request
    }

    /// Waits for the next sign of life.
    async fn within<T>(
        &self,
        limit: Duration,
        sign: impl Future<Output = T>,
    ) -> Result<T, Trouble> {
        timeout(limit, sign).await.map_err(|_| {
            Trouble::network(format!(
                "{} was silent for {}",
                host(&self.url),
                seconds(limit)
            ))
        })
    }

    async fn listen(
        &self,
        mut response: Response,
        reading: &mut dyn Reading,
    ) -> Result<(), Trouble> {
        let mut body = Body::default();
        let complained = |complaint| self.complained(complaint);
        // Some servers send the head of an answer at once, and begin to think then.
        let mut limit = self.endpoint.first_byte_timeout;
        while !reading.is_over() {
            let next = self.within(limit, response.chunk()).await;
            limit = self.endpoint.idle_timeout;
            let heard = match next {
                Ok(Ok(piece)) => Ok(piece),
                Ok(Err(error)) => Err(Trouble::network(format!(
                    "the answer of {} broke off: {}",
                    host(&self.url),
                    causes(&error)
                ))),
                Err(silence) => Err(silence),
            };
            match heard {
                Ok(Some(piece)) => body.take(&piece, reading).map_err(complained)?,
                Ok(None) => {
                    body.end(reading).map_err(complained)?;
                    break;
                }
                Err(_) if reading.is_complete() => break,
                Err(trouble) => return Err(trouble),
            }
        }
        if !reading.is_complete() {
            let host = host(&self.url);
            return Err(match body.received {
                0 => Trouble::mute(format!("{host} ended its answer without a word")),
                _ => Trouble::network(format!("{host} ended its answer before it was whole")),
            });
        }
        let farewell = async { while let Ok(Some(_)) = response.chunk().await {} };
        let _ = timeout(FAREWELL, farewell).await;
        Ok(())
    }

    fn complained(&self, complaint: Complaint) -> Trouble {
        match complaint {
            Complaint::Malformed(detail) => Trouble::malformed(detail),
            Complaint::Told(error) => {
                let masked = self.mask.text(&error.to_string()).into_owned();
                let error = serde_json::from_str(&masked).unwrap_or(Json::String(masked));
                Trouble::told(&error, clock::now_ms())
            }
        }
    }

    async fn refusal(&self, mut response: Response) -> Trouble {
        let status = response.status().as_u16();
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers: Headers = response
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str(), text(value)))
            .collect();
        let target = response.headers().get(LOCATION).map(text);
        let mut body = Vec::new();
        let limit = self.endpoint.idle_timeout;
        while let Ok(Ok(Some(piece))) = self.within(limit, response.chunk()).await {
            body.extend_from_slice(&piece);
            if body.len() > MAX_REFUSAL_BYTES {
                break;
            }
        }
        let said = match target.filter(|_| response.status().is_redirection()) {
            Some(target) => format!(
                "it redirects to {target}, where no key is sent; if that is right, make it the base_url"
            ),
            None => String::from_utf8_lossy(&body).into_owned(),
        };
        // Before it is shortened: half of a key is no longer known for one.
        let said = self.mask.text(&said);
        Trouble::refused(status, &headers, &said, clock::now_ms())
    }

    fn unreached(&self, error: &reqwest::Error) -> Trouble {
        let host = host(&self.url);
        if error.is_connect() && error.is_timeout() {
            let limit = seconds(self.endpoint.connect_timeout);
            return Trouble::network(format!("no connection to {host} within {limit}"));
        }
        let verb = if error.is_connect() {
            "cannot connect to"
        } else {
            "cannot ask"
        };
        Trouble::network(format!("{verb} {host}: {}", causes(error)))
    }
}

fn client(url: &Url, endpoint: &Endpoint) -> Result<Client> {
    // Whoever comes second finds the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let same_server = redirect::Policy::custom(|attempt| {
        let origin = attempt.previous().first().map(Url::origin);
        let stays = origin == Some(attempt.url().origin());
        if stays && attempt.previous().len() <= MAX_REDIRECTIONS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    let mut builder = Client::builder()
        .redirect(same_server)
        .connect_timeout(endpoint.connect_timeout);
    if is_loopback(url) {
        builder = builder.no_proxy();
        if url.scheme() == "http" {
            // Nothing is ever signed there: a system without certificates will do, and none are read.
            builder = builder.tls_certs_only([]);
        }
    }
    builder.build().context("the HTTP client")
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn seconds(limit: Duration) -> String {
    match limit.subsec_millis() {
        0 => format!("{} s", limit.as_secs()),
        _ => format!("{} ms", limit.as_millis()),
    }
}

/// The innermost words say most; the outer ones repeat the address.
fn causes(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
