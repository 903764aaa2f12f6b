//! By what a delivery is known again.

use super::headers::{Headers, SentTwice};
use super::{Refusal, Scheme};
use ring::digest;

const MAX_ID_CHARS: usize = 255;

/// By what a delivery is known that was taken, the sender's own id first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub keys: Vec<String>,
    /// What the sender calls one request for all ways in.
    pub idempotency_key: Option<String>,
}

/// The identity by the scheme. A body that GitHub signed counts as well: its id is not signed, so that a copy under another id
/// would pass for something new.
pub fn of(scheme: Scheme, headers: &Headers<'_>, body: &[u8]) -> Result<Identity, Refusal> {
    let id = match scheme {
        Scheme::Github => header(headers, "x-github-delivery", "X-GitHub-Delivery")?,
        Scheme::Standard => header(headers, "webhook-id", "webhook-id")?,
        Scheme::Bearer | Scheme::None => header(headers, "idempotency-key", "Idempotency-Key")?,
    };
    let signed = (scheme == Scheme::Github).then(|| format!("body:{}", hash_of(body)));
    Ok(Identity {
        keys: id
            .map(|id| format!("id:{id}"))
            .into_iter()
            .chain(signed)
            .collect(),
        idempotency_key: id
            .filter(|_| matches!(scheme, Scheme::Bearer | Scheme::None))
            .map(str::to_owned),
    })
}

impl Identity {
    /// The configured key in place of the sender's id.
    pub fn under(self, key: &str) -> Result<Identity, Refusal> {
        let key = checked(key, "dedupe")?;
        let signed = self
            .keys
            .into_iter()
            .filter(|known| known.starts_with("body:"));
        Ok(Identity {
            keys: std::iter::once(format!("key:{key}"))
                .chain(signed)
                .collect(),
            idempotency_key: None,
        })
    }
}

fn header<'a>(headers: &Headers<'a>, name: &str, shown: &str) -> Result<Option<&'a str>, Refusal> {
    match headers.one(name) {
        Ok(None) => Ok(None),
        Ok(Some(id)) => checked(id, shown).map(Some),
        Err(SentTwice) => Err(Refusal::Malformed(format!(
            "the header {shown} was sent more than once"
        ))),
    }
}

fn checked<'a>(id: &'a str, what: &str) -> Result<&'a str, Refusal> {
    let fault = match id.chars().count() {
        0 => "is empty".to_owned(),
        1..=MAX_ID_CHARS if !id.chars().any(char::is_control) => return Ok(id),
        1..=MAX_ID_CHARS => "holds control characters".to_owned(),
        count => format!("has {count} characters, more than {MAX_ID_CHARS}"),
    };
    Err(Refusal::Malformed(format!("{what} {fault}")))
}

fn hash_of(body: &[u8]) -> String {
    let hash = digest::digest(&digest::SHA256, body);
    hash.as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
