//! Whether a delivery comes from somebody who knows a secret of the hook. It looks at the bytes as they came and reads nothing in them.

use super::headers::{Headers, SentTwice};
use super::{Refusal, Scheme, Secret};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// How far the time of a signature may be from ours, each way.
pub const WINDOW_MS: u64 = 5 * 60 * 1000;
/// More signatures than anybody rotates through.
const MAX_SIGNATURES: usize = 16;
const SHA256_BYTES: usize = 32;
/// Until the year 33658: longer numbers are no times.
const MAX_TIMESTAMP_DIGITS: usize = 12;

/// Lets those pass that one of the secrets signed.
pub fn check(
    scheme: Scheme,
    secrets: &[Secret],
    headers: &Headers<'_>,
    body: &[u8],
    at_ms: i64,
) -> Result<(), Refusal> {
    match scheme {
        Scheme::Bearer => bearer(secrets, headers),
        Scheme::Github => github(secrets, headers, body),
        Scheme::Standard => standard(secrets, headers, body, at_ms),
        Scheme::None => Ok(()),
    }
}

fn any(secrets: &[Secret], mut fits: impl FnMut(&Secret) -> bool) -> Result<(), Refusal> {
    match secrets.iter().any(&mut fits) {
        true => Ok(()),
        false => Err(Refusal::BadSignature),
    }
}

fn needed<'a>(headers: &Headers<'a>, name: &str, shown: &str) -> Result<&'a str, Refusal> {
    let missing = |how: &str| Refusal::MissingSignature(format!("the header {shown} {how}"));
    match headers.one(name) {
        Ok(Some("")) => Err(missing("is empty")),
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(missing("is missing")),
        Err(SentTwice) => Err(missing("was sent more than once")),
    }
}

fn bearer(secrets: &[Secret], headers: &Headers<'_>) -> Result<(), Refusal> {
    let shown = needed(headers, "authorization", "Authorization")?;
    let token = shown
        .split_once(' ')
        .filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
    let Some((_, token)) = token else {
        let message = "the header Authorization must be: Bearer SECRET";
        return Err(Refusal::MissingSignature(message.to_owned()));
    };
    any(secrets, |secret| secret.is(token.trim()))
}

fn github(secrets: &[Secret], headers: &Headers<'_>, body: &[u8]) -> Result<(), Refusal> {
    let shown = needed(headers, "x-hub-signature-256", "X-Hub-Signature-256")?;
    let signature = shown.strip_prefix("sha256=").and_then(from_hex);
    let signature = signature.ok_or(Refusal::BadSignature)?;
    any(secrets, |secret| {
        hmac::verify(secret.key(), body, &signature).is_ok()
    })
}

/// Lower case only, as it is sent: one signature has one form.
fn from_hex(text: &str) -> Option<[u8; SHA256_BYTES]> {
    let digit = |letter: u8| match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    };
    let letters = text.as_bytes();
    if letters.len() != 2 * SHA256_BYTES {
        return None;
    }
    let mut bytes = [0; SHA256_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(letters.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn standard(
    secrets: &[Secret],
    headers: &Headers<'_>,
    body: &[u8],
    at_ms: i64,
) -> Result<(), Refusal> {
    let id = needed(headers, "webhook-id", "webhook-id")?;
    let timestamp = needed(headers, "webhook-timestamp", "webhook-timestamp")?;
    let listed = needed(headers, "webhook-signature", "webhook-signature")?;
    // What is signed has full stops between id, time and body: with one in the id, another cut would be signed as well.
    if id.contains('.') {
        let message = "the header webhook-id must not contain a full stop";
        return Err(Refusal::MissingSignature(message.to_owned()));
    }
    let seconds = seconds(timestamp)?;
    let signatures = signatures(listed)?;
    any(secrets, |secret| {
        let mut signed = hmac::Context::with_key(secret.key());
        for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            signed.update(part);
        }
        let tag = signed.sign();
        signatures
            .iter()
            .any(|signature| secret.same(tag.as_ref(), signature))
    })?;
    match at_ms.abs_diff(seconds * 1000) <= WINDOW_MS {
        true => Ok(()),
        false => Err(Refusal::Stale),
    }
}

fn seconds(timestamp: &str) -> Result<i64, Refusal> {
    let plain = timestamp.len() <= MAX_TIMESTAMP_DIGITS
        && timestamp.bytes().all(|letter| letter.is_ascii_digit());
    let seconds = timestamp.parse().ok().filter(|_| plain);
    seconds.ok_or_else(|| {
        let message = "the header webhook-timestamp must be whole seconds since 1970";
        Refusal::MissingSignature(message.to_owned())
    })
}

/// The signatures by shared secret (`v1`); those of other versions are for others.
fn signatures(listed: &str) -> Result<Vec<Vec<u8>>, Refusal> {
    let versions = listed
        .split(' ')
        .take(MAX_SIGNATURES)
        .filter_map(|one| one.split_once(','));
    let own: Vec<&str> = versions
        .filter(|(version, _)| *version == "v1")
        .map(|(_, signature)| signature)
        .collect();
    if own.is_empty() {
        let message = "the header webhook-signature holds no v1 signature; v1a (public keys) and others are not supported";
        return Err(Refusal::MissingSignature(message.to_owned()));
    }
    let decoded = own.iter().filter_map(|text| STANDARD.decode(text).ok());
    Ok(decoded.collect())
}
