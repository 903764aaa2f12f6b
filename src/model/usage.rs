//! What a turn used: tokens, tool calls, money. Pure numbers; where they come from is the agents' business.

/// What is known of a turn's use; nothing where the agent does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    pub cost_usd: Option<f64>,
    /// With what was read from a cache.
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub tool_calls: i64,
}
