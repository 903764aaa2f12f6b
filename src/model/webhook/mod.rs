//! Webhooks, as far as they are decisions: who may have sent a delivery, whether it was here before, and what request it becomes.
//! Pure: it is handed headers, bytes, secrets and the time. Whatever a delivery says is data: nothing here lets it become anything else.

mod context;
pub mod fence;
mod headers;
pub mod identity;
pub mod payload;
pub mod secret;
pub mod signature;
pub mod template;
#[cfg(test)]
mod tests;

pub use headers::Headers;
pub use secret::Secret;
pub use template::Templates;

use crate::model::request::Problems;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a delivery shows that it comes from whom it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// `Authorization: Bearer SECRET`.
    Bearer,
    /// `X-Hub-Signature-256`, over the body.
    Github,
    /// Standard Webhooks: `webhook-signature`, over id, time and body.
    Standard,
    /// Not at all; for programs on the same machine.
    None,
}

/// Why a delivery is not taken. The words are for whoever sent it, and tell nothing that helps to forge one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    NotLoopback,
    MissingSignature(String),
    BadSignature,
    Stale,
    Malformed(String),
    Unfit(Problems),
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotLoopback => formatter.write_str(
                "this hook has verify = \"none\" and takes deliveries of programs on the same machine only, not of browsers or proxies",
            ),
            Refusal::MissingSignature(what) => formatter.write_str(what),
            Refusal::BadSignature => formatter.write_str("the signature is not that of this body under a secret of this hook"),
            Refusal::Stale => formatter.write_str("the delivery was signed more than 5 minutes before or after now"),
            Refusal::Malformed(what) => formatter.write_str(what),
            Refusal::Unfit(problems) => write!(formatter, "{problems}"),
        }
    }
}

impl Scheme {
    /// What needs no secret must come from this machine, and from nobody who speaks for others: any page in a browser here can
    /// post to a loopback address, and a proxy makes a stranger look like a neighbour.
    pub fn admits(self, loopback: bool, headers: &Headers<'_>) -> bool {
        const OF_BROWSERS_AND_PROXIES: &[&str] = &[
            "origin",
            "sec-fetch-site",
            "forwarded",
            "x-forwarded-for",
            "x-real-ip",
            "via",
        ];
        let relayed = || OF_BROWSERS_AND_PROXIES.iter().any(|name| headers.has(name));
        self != Scheme::None || (loopback && !relayed())
    }

    /// GitHub greets every new hook with a delivery that is about nothing.
    pub fn is_greeting(self, headers: &Headers<'_>) -> bool {
        self == Scheme::Github && headers.one("x-github-event") == Ok(Some("ping"))
    }
}
