//! A secret in the form that a scheme signs with.

use super::Scheme;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

const PREFIX: &str = "whsec_";
/// Prefixes of keys that sign otherwise.
const ASYMMETRIC: &[&str] = &["whsk_", "whpk_"];
/// 128 bits; the standard advises at least 192.
const LEAST_KEY_BYTES: usize = 16;

/// A secret that deliveries are checked with.
pub struct Secret {
    key: hmac::Key,
    text: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret")
    }
}

impl Secret {
    /// The secret as it was configured. The error is the rest of a sentence about it.
    pub fn new(scheme: Scheme, text: &str) -> Result<Self, &'static str> {
        let bytes = match scheme {
            Scheme::Standard => standard(text)?,
            Scheme::Bearer | Scheme::Github | Scheme::None => text.as_bytes().to_vec(),
        };
        Ok(Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &bytes),
            text: text.to_owned(),
        })
    }

    pub(super) fn key(&self) -> &hmac::Key {
        &self.key
    }

    /// Whether this is the secret itself; how long it takes says nothing of how alike they are.
    pub(super) fn is(&self, shown: &str) -> bool {
        self.same(self.text.as_bytes(), shown.as_bytes())
    }

    /// Compares by signatures of both under a key that nobody outside knows.
    pub(super) fn same(&self, own: &[u8], shown: &[u8]) -> bool {
        let tag = hmac::sign(&self.key, shown);
        hmac::verify(&self.key, own, tag.as_ref()).is_ok()
    }
}

/// `whsec_` and base64; the prefix may be left out, as the reference implementations have it.
fn standard(text: &str) -> Result<Vec<u8>, &'static str> {
    if ASYMMETRIC.iter().any(|prefix| text.starts_with(prefix)) {
        return Err("is a key for v1a signatures, which are not supported; use a whsec_ secret");
    }
    let encoded = text.strip_prefix(PREFIX).unwrap_or(text);
    let bytes = STANDARD
        .decode(encoded)
        .map_err(|_| "is no secret of Standard Webhooks: whsec_ and then base64")?;
    match bytes.len() {
        0..LEAST_KEY_BYTES => Err("is too short: at least 16 bytes in base64 after whsec_"),
        _ => Ok(bytes),
    }
}
