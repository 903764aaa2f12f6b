//! Who may use the HTTP API, and for what: scopes, and whether a token still holds. Pure words; only hashes of tokens are ever kept.

use super::words::words;
use serde::Serialize;

words! {
    /// What a token allows.
    pub enum Scope {
        /// Look at sessions and events.
        Read => "read",
        /// Make new sessions.
        Submit => "submit",
        /// Answer, pause, cancel, and the like.
        Act => "act",
    }
}

/// A token as it is kept: never what its owner shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Token {
    pub id: String,
    pub name: String,
    #[serde(skip)]
    pub hash: String,
    pub scopes: Vec<Scope>,
    pub created_at_ms: i64,
    pub expires_at_ms: Option<i64>,
    pub revoked_at_ms: Option<i64>,
}

impl Token {
    /// Whether it opens anything now.
    pub fn holds(&self, now_ms: i64) -> bool {
        self.revoked_at_ms.is_none() && self.expires_at_ms.is_none_or(|end| end > now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_holds_until_it_is_revoked_or_expired() {
        for (expires_at_ms, revoked_at_ms, holds) in [
            (None, None, true),
            (Some(101), None, true),
            (Some(100), None, false),
            (None, Some(1), false),
            (Some(101), Some(200), false),
        ] {
            let token = Token {
                id: String::new(),
                name: String::new(),
                hash: String::new(),
                scopes: vec![Scope::Read],
                created_at_ms: 0,
                expires_at_ms,
                revoked_at_ms,
            };
            assert_eq!(
                token.holds(100),
                holds,
                "{expires_at_ms:?} {revoked_at_ms:?}"
            );
        }
    }
}
