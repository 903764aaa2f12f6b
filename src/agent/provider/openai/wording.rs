//! Which words of the dialect a server understands: the newer ones are not known everywhere, and the older ones not everywhere any
//! more. Pure.

use super::super::Question;
use super::super::trouble::Trouble;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wording {
    /// Some servers say in a document why they are mute in a stream.
    pub(super) stream: bool,
    /// A schema goes out as `response_format`; otherwise in the system prompt.
    pub(super) response_format: bool,
    /// The usage of a stream is asked for.
    pub(super) stream_options: bool,
    /// The newer name of the most that may be answered; the makers' newer models refuse the older one.
    pub(super) max_completion_tokens: bool,
}

impl Wording {
    pub(super) fn for_host(host: &str) -> Self {
        Self {
            stream: true,
            response_format: true,
            stream_options: true,
            max_completion_tokens: host == "api.openai.com",
        }
    }

    /// What to say instead, where saying the same again would not help.
    pub(super) fn instead(self, trouble: &Trouble, question: &Question<'_>) -> Option<Self> {
        if self.stream && trouble.is_mute {
            return Some(Self {
                stream: false,
                ..self
            });
        }
        let objection = trouble.objection.as_deref()?;
        self.without(objection, question.schema.is_some())
    }

    /// The same without the word that a server objects to.
    fn without(self, objection: &str, has_schema: bool) -> Option<Self> {
        let objection = objection.to_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| objection.contains(word));
        if self.response_format
            && has_schema
            && names(&["response_format", "json_schema", "grammar"])
        {
            return Some(Self {
                response_format: false,
                ..self
            });
        }
        if self.stream_options && names(&["stream_options"]) {
            return Some(Self {
                stream_options: false,
                ..self
            });
        }
        if !self.max_completion_tokens && names(&["max_completion_tokens"]) {
            return Some(Self {
                max_completion_tokens: true,
                ..self
            });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_dropped_once() {
        let full = Wording::for_host("127.0.0.1");
        assert!(!full.max_completion_tokens);
        assert!(Wording::for_host("api.openai.com").max_completion_tokens);
        for (objection, has_schema, expected) in [
            (
                "'response_format' is not supported",
                true,
                Some(Wording {
                    response_format: false,
                    ..full
                }),
            ),
            ("'response_format' is not supported", false, None),
            (
                "failed to parse grammar",
                true,
                Some(Wording {
                    response_format: false,
                    ..full
                }),
            ),
            (
                "unknown field `stream_options`",
                true,
                Some(Wording {
                    stream_options: false,
                    ..full
                }),
            ),
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                false,
                Some(Wording {
                    max_completion_tokens: true,
                    ..full
                }),
            ),
            ("prompt is too long", true, None),
        ] {
            let plainer = full.without(objection, has_schema);
            assert_eq!(plainer, expected, "{objection}");
            let again = plainer.and_then(|plainer| plainer.without(objection, has_schema));
            assert_eq!(again, None, "{objection}");
        }
    }
}
