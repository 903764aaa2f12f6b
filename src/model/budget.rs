//! The budgets of a session by their names, and when one of them is nearly used up. Pure: it is given the sums.

use super::words::words;

words! {
    /// What a session may have a budget of.
    pub enum BudgetKind {
        Usd => "usd",
        Tokens => "tokens",
        Wall => "wall",
        ToolCalls => "tool_calls",
    }
}

/// Whether two thirds of a limit are used: time to do what matters most.
pub fn is_two_thirds_used(used: f64, limit: f64) -> bool {
    limit > 0.0 && used * 3.0 >= limit * 2.0
}

/// How much is used of how much, for people: `0.70 of 1.00 USD`.
pub fn in_words(kind: BudgetKind, used: f64, limit: f64) -> String {
    match kind {
        BudgetKind::Usd => format!("{used:.2} of {limit:.2} USD"),
        BudgetKind::Tokens => format!("{used:.0} of {limit:.0} tokens"),
        BudgetKind::Wall => {
            let minutes = |ms: f64| ms / 60_000.0;
            format!("{:.1} of {:.1} minutes", minutes(used), minutes(limit))
        }
        BudgetKind::ToolCalls => format!("{used:.0} of {limit:.0} tool calls"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_thirds_are_two_of_three_parts() {
        for (used, limit, expected) in [
            (0.0, 3.0, false),
            (1.99, 3.0, false),
            (2.0, 3.0, true),
            (9.0, 3.0, true),
            (67.0, 100.0, true),
            (66.0, 100.0, false),
            (0.0, 0.0, false),
        ] {
            assert_eq!(is_two_thirds_used(used, limit), expected, "{used} {limit}");
        }
    }

    #[test]
    fn sums_have_their_unit() {
        for (kind, expected) in [
            (BudgetKind::Usd, "120000.00 of 180000.00 USD"),
            (BudgetKind::Tokens, "120000 of 180000 tokens"),
            (BudgetKind::Wall, "2.0 of 3.0 minutes"),
            (BudgetKind::ToolCalls, "120000 of 180000 tool calls"),
        ] {
            assert_eq!(in_words(kind, 120_000.0, 180_000.0), expected);
        }
    }
}
