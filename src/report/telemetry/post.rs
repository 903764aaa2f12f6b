//! Sends spans to a collector: OTLP over HTTP, as JSON. Where it is and what it wants to see comes from the variables that all
//! programs with OpenTelemetry share.

use anyhow::{Context, Result, bail};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use serde_json::{Value as Json, json};
use std::time::Duration;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
const TIMEOUT: Duration = Duration::from_secs(10);
/// Spans in one message.
const MAX_SPANS: usize = 500;

/// Where spans go.
pub(super) struct Collector {
    client: Client,
    url: Url,
    headers: HeaderMap,
    service: String,
}

impl Collector {
    /// The collector that the environment names, if any.
    pub(super) fn of_environment() -> Result<Option<Self>> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let whole = variable(TRACES_ENDPOINT);
        let base = variable(ENDPOINT);
        let base = base.map(|base| format!("{}/v1/traces", base.trim_end_matches('/')));
        let Some(url) = whole.or(base) else {
            return Ok(None);
        };
        let url = Url::parse(&url).with_context(|| format!("{ENDPOINT} is no address"))?;
        // Whoever comes second finds the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder().timeout(TIMEOUT);
        if url.scheme() == "http" {
            // Nothing is signed there: a system without certificates will do, and none are read.
            builder = builder.no_proxy().tls_certs_only([]);
        }
        Ok(Some(Self {
            client: builder.build().context("the HTTP client")?,
            url,
            headers: headers(&variable(HEADERS).unwrap_or_default())?,
            service: variable(SERVICE_NAME).unwrap_or_else(|| "ralphd".to_owned()),
        }))
    }

    /// Sends spans; all were taken when it returns.
    pub(super) async fn send(&self, spans: &[Json]) -> Result<()> {
        for some in spans.chunks(MAX_SPANS) {
            let body = self.message(some).to_string();
            let request = self.client.post(self.url.clone());
            let request = request.headers(self.headers.clone()).body(body);
            let answer = request.send().await?;
            if !answer.status().is_success() {
                bail!("the collector answers {}", answer.status());
            }
        }
        Ok(())
    }

    fn message(&self, spans: &[Json]) -> Json {
        let version = env!("CARGO_PKG_VERSION");
        json!({ "resourceSpans": [{
            "resource": { "attributes": [
                { "key": "service.name", "value": { "stringValue": self.service } },
                { "key": "service.version", "value": { "stringValue": version } },
            ]},
            "scopeSpans": [{ "scope": { "name": "ralphd", "version": version }, "spans": spans }],
        }]})
    }
}

/// Headers as `name=value,name=value`.
fn headers(text: &str) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
        let (name, value) = pair
            .split_once('=')
            .with_context(|| format!("{HEADERS} must be name=value,name=value"))?;
        let name: HeaderName = name.trim().parse().context(HEADERS)?;
        let mut value: HeaderValue = value.trim().parse().context(HEADERS)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
