//! The headers of Standard Webhooks: the same id at every try, so that a receiver can tell a repetition; the time of the try; and where
//! there is a secret, the signature over both and the body.

use super::post::Posting;
use super::sign;
use crate::clock::now_ms;
use crate::model::notice::Refusal;
use crate::store::notices::Notice;
use reqwest::header::{HeaderName, HeaderValue};

pub(super) fn sign(
    mut posting: Posting,
    notice: &Notice,
    secret: Option<&str>,
) -> Result<Posting, Refusal> {
    let timestamp = now_ms() / 1000;
    let mut set = |name: &'static str, value: String| -> Result<(), Refusal> {
        let value = HeaderValue::from_str(&value).map_err(|error| error.to_string())?;
        posting.headers.insert(HeaderName::from_static(name), value);
        Ok(())
    };
    set("webhook-id", notice.id.clone())?;
    set("webhook-timestamp", timestamp.to_string())?;
    if let Some(secret) = secret {
        let key = sign::key_of(secret).map_err(str::to_owned)?;
        let signature = sign::signature(&key, &notice.id, timestamp, &notice.body);
        set("webhook-signature", signature)?;
    }
    Ok(posting)
}
