//! Signatures as Standard Webhooks has them: `v1`, HMAC-SHA256 over id, timestamp and body. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// What secrets begin with.
const PREFIX: &str = "whsec_";
/// As Standard Webhooks asks for.
const MIN_KEY_BYTES: usize = 24;

/// The key in a secret; the error says what a secret looks like, and not what this one does.
pub(super) fn key_of(secret: &str) -> Result<hmac::Key, &'static str> {
    let text = secret
        .trim()
        .strip_prefix(PREFIX)
        .ok_or("the secret must begin with whsec_")?;
    let bytes = STANDARD
        .decode(text)
        .map_err(|_| "the secret is not base64 after whsec_")?;
    match bytes.len() {
        0..MIN_KEY_BYTES => Err("the secret is too short: whsec_ and 24 bytes or more in base64"),
        _ => Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes)),
    }
}

/// The value of the header `webhook-signature`.
pub(super) fn signature(key: &hmac::Key, id: &str, timestamp: i64, body: &str) -> String {
    let tag = hmac::sign(key, format!("{id}.{timestamp}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_vector_holds() {
        let key = key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = signature(
            &key,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn secrets_that_are_none_are_refused() {
        for (secret, expected) in [
            ("", "must begin with whsec_"),
            ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "must begin with whsec_"),
            ("whsec_", "too short"),
            ("whsec_c2hvcnQ=", "too short"),
            ("whsec_not base64!", "not base64"),
        ] {
            let problem = key_of(secret).unwrap_err();
            assert!(problem.contains(expected), "{secret}: {problem}");
        }
    }
}
