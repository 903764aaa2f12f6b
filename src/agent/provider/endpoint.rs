//! Where a model is reached, and how patiently. It must not show a key, whoever prints it.

use crate::model::backoff::Patience;
use crate::model::conversation::StepUsage;
use anyhow::{Context, Result, ensure};
use reqwest::Url;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A key; nobody can print it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[masked]")
    }
}

/// A try that failed, and the wait before the same is asked again; none where it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub wait_ms: i64,
    /// Which retry follows, from 1.
    pub retry: u32,
    pub why: String,
    /// What the try has used all the same.
    pub spent: StepUsage,
}

/// Whoever is told of waits.
pub type Listener = Arc<dyn Fn(Notice) + Send + Sync>;

/// A server of models.
#[derive(Clone)]
pub struct Endpoint {
    /// Without one: the server of those who made the dialect.
    pub base_url: Option<String>,
    /// Local servers want none.
    pub key: Option<Secret>,
    pub connect_timeout: Duration,
    /// Until an answer begins: a small machine may read a long prompt for minutes.
    pub first_byte_timeout: Duration,
    /// Time without a byte of an answer that has begun.
    pub idle_timeout: Duration,
    /// The longest that one try of one answer may take.
    pub total_timeout: Duration,
    pub patience: Patience,
    pub notice: Option<Listener>,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self {
            base_url: None,
            key: None,
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(120),
            idle_timeout: Duration::from_secs(120),
            total_timeout: Duration::from_secs(30 * 60),
            patience: Patience {
                base_ms: 1_000,
                retries: 5,
                max_wait_ms: 120_000,
            },
            notice: None,
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Endpoint")
            .field("base_url", &self.base_url)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// The key, unless it is empty, as that of local servers often is.
    pub(super) fn given_key(&self) -> Option<&str> {
        let key = self.key.as_ref().map(|key| key.reveal().trim());
        key.filter(|key| !key.is_empty())
    }
}

/// Where Anthropic's Messages are: the base may carry `/v1` or not.
pub(super) fn messages_url(base: Option<&str>) -> Result<Url> {
    let base = parsed(base.unwrap_or("https://api.anthropic.com"))?;
    let path = trimmed(&base, "/v1/messages");
    let path = path.strip_suffix("/v1").unwrap_or(&path);
    Ok(with_path(&base, &format!("{path}/v1/messages")))
}

/// Where chat completions are: below the base as it was given, or below `/v1` of a bare host.
pub(super) fn chat_url(base: Option<&str>) -> Result<Url> {
    let base = parsed(base.unwrap_or("https://api.openai.com/v1"))?;
    let path = match trimmed(&base, "/chat/completions") {
        bare if bare.is_empty() => "/v1".to_owned(),
        path => path,
    };
    Ok(with_path(&base, &format!("{path}/chat/completions")))
}

fn parsed(base: &str) -> Result<Url> {
    let url = Url::parse(base.trim()).with_context(|| format!("base_url {base:?}"))?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    ensure!(
        is_web,
        "base_url {base:?}: must be an http:// or https:// address"
    );
    Ok(url)
}

fn trimmed(base: &Url, ending: &str) -> String {
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix(ending).unwrap_or(path);
    path.trim_end_matches('/').to_owned()
}

fn with_path(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(path);
    url.set_fragment(None);
    url
}

/// Whether a server is on this machine: no proxy is asked for it.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_are_taken_as_the_kits_of_the_makers_do() {
        for (base, messages, chat) in [
            (
                None,
                "https://api.anthropic.com/v1/messages",
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                Some("http://127.0.0.1:8123"),
                "http://127.0.0.1:8123/v1/messages",
                "http://127.0.0.1:8123/v1/chat/completions",
            ),
            (
                Some("http://h/v1/"),
                "http://h/v1/messages",
                "http://h/v1/chat/completions",
            ),
            (
                Some(" https://h/api/v1 "),
                "https://h/api/v1/messages",
                "https://h/api/v1/chat/completions",
            ),
            (
                Some("https://h/openai?api-version=1"),
                "https://h/openai/v1/messages?api-version=1",
                "https://h/openai/chat/completions?api-version=1",
            ),
            (
                Some("http://h//"),
                "http://h/v1/messages",
                "http://h/v1/chat/completions",
            ),
        ] {
            assert_eq!(messages_url(base).unwrap().as_str(), messages);
            assert_eq!(chat_url(base).unwrap().as_str(), chat);
        }
        let whole = "http://h/v1/chat/completions";
        assert_eq!(chat_url(Some(whole)).unwrap().as_str(), whole);
        let whole = "http://h/v1/messages";
        assert_eq!(messages_url(Some(whole)).unwrap().as_str(), whole);
        for wrong in ["", "h:80", "ftp://h", "file:///x", "http://"] {
            assert!(chat_url(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn loopback_has_many_names() {
        for (url, expected) in [
            ("http://127.0.0.1:80", true),
            ("http://127.8.0.1", true),
            ("http://[::1]:80", true),
            ("http://localhost/v1", true),
            ("http://a.localhost", true),
            ("http://localhost.example.org", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn no_key_is_printed() {
        let endpoint = Endpoint {
            key: Some(Secret::new("sk-secret-secret")),
            ..Endpoint::default()
        };
        assert!(!format!("{endpoint:?}").contains("secret"));
        assert_eq!(endpoint.given_key(), Some("sk-secret-secret"));
    }
}
