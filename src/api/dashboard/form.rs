//! What comes in from a form, and that it came from a page of ours: a hidden field that only such a page can have (against forged
//! requests from other sites), bound to a cookie of the browser and to the token of whoever is logged in.

use crate::api::auth::{TOKEN_COOKIE, cookie, hash};
use crate::api::call::{Call, unsupported};
use crate::api::problem::Problem;
use hyper::StatusCode;
use hyper::header::HeaderMap;

/// The cookie that forms are bound to. It opens nothing.
pub const FORM_COOKIE: &str = "ralphd_form";
/// The hidden field.
pub const PROOF: &str = "proof";
const FORM: &str = "application/x-www-form-urlencoded";

/// The fields of a form, as they were filled in.
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads the body of a call that a form of ours sent.
    pub fn of(call: &Call) -> Result<Self, Problem> {
        match call.content_type().as_deref() {
            Some(FORM) => {}
            kind => return Err(unsupported(kind.unwrap_or("no kind"), FORM)),
        }
        let form = Self(
            form_urlencoded::parse(&call.body)
                .into_owned()
                .collect::<Vec<_>>(),
        );
        let kept = cookie(&call.headers, FORM_COOKIE);
        let expected = kept.map(|kept| proof(&kept, &call.headers));
        match (expected, form.raw(PROOF)) {
            (Some(expected), Some(given)) if expected == given => Ok(form),
            _ => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "this form was not sent from a page of this dashboard, or its cookie is gone; allow cookies, go back, load the page again and repeat it",
            )),
        }
    }

    fn raw(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A field that somebody wrote something in. Browsers send line ends as two characters.
    pub fn text(&self, name: &str) -> Option<String> {
        let text = self.raw(name)?.replace("\r\n", "\n");
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

/// What a form of a page must carry, by the cookie of the browser and the token that it shows.
pub fn proof(kept: &str, headers: &HeaderMap) -> String {
    let token = cookie(headers, TOKEN_COOKIE).unwrap_or_default();
    hash(&format!("ralphd form\n{kept}\n{token}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{COOKIE, HeaderValue};

    #[test]
    fn a_proof_belongs_to_one_browser_and_one_token() {
        let with = |cookies: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_static(cookies));
            headers
        };
        let own = proof("a", &with("x=1; ralphd_token=one"));
        assert_eq!(own, proof("a", &with("ralphd_token=one")));
        assert_ne!(own, proof("b", &with("ralphd_token=one")));
        assert_ne!(own, proof("a", &with("ralphd_token=two")));
        assert_ne!(own, proof("a", &HeaderMap::new()));
    }
}
