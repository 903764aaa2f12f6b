//! What a turn used: tokens, tool calls, money. Pure numbers; where they come from is the agents' business.

/// What is known of a turn's use; nothing where the agent does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Usage {
    pub cost_usd: Option<f64>,
    /// With what was read from a cache.
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub tool_calls: i64,
}

impl Usage {
    /// Both together; what neither tells stays unknown.
    pub fn plus(self, other: Self) -> Self {
        let sum = |one: Option<i64>, other: Option<i64>| match (one, other) {
            (None, None) => None,
            _ => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
        };
        Self {
            cost_usd: match (self.cost_usd, other.cost_usd) {
                (None, None) => None,
                (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
            },
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
        }
    }

    /// The more of each: what was used before cannot become less.
    pub fn at_least(self, other: Self) -> Self {
        Self {
            cost_usd: match (self.cost_usd, other.cost_usd) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (one, other) => one.or(other),
            },
            input_tokens: self.input_tokens.max(other.input_tokens),
            output_tokens: self.output_tokens.max(other.output_tokens),
            tool_calls: self.tool_calls.max(other.tool_calls),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_know_what_either_knows() {
        let one = Usage {
            cost_usd: Some(0.5),
            input_tokens: Some(3),
            output_tokens: None,
            tool_calls: 1,
        };
        let nothing = Usage::default();
        assert_eq!(one.plus(nothing), one);
        assert_eq!(nothing.plus(one), one);
        assert_eq!(one.plus(one).cost_usd, Some(1.0));
        assert_eq!(one.plus(one).input_tokens, Some(6));
        assert_eq!(nothing.plus(nothing), nothing);
    }

    #[test]
    fn what_was_used_stays_used() {
        let before = Usage {
            cost_usd: Some(0.5),
            input_tokens: Some(30),
            output_tokens: None,
            tool_calls: 4,
        };
        let now = Usage {
            cost_usd: Some(0.25),
            input_tokens: Some(40),
            output_tokens: Some(1),
            tool_calls: 0,
        };
        let both = Usage {
            cost_usd: Some(0.5),
            input_tokens: Some(40),
            output_tokens: Some(1),
            tool_calls: 4,
        };
        assert_eq!(now.at_least(before), both);
        assert_eq!(Usage::default().at_least(before), before);
    }
}
