//! What tokens cost, for tools that count them and tell no sum: the list prices of common models with their date, under the prices
//! of the configuration. Pure numbers; it must not know any tool. The next model is one line of the table.

use super::conversation::StepUsage;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The day of the built-in prices: as the providers listed them then, for prompts of ordinary length.
pub const AS_OF: &str = "2026-10-01";

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    #[schemars(extend("minimum" = 0, "maximum" = 1_000_000))]
    pub input: f64,
    /// Input that came out of a cache; without it, as dear as the rest of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0, "maximum" = 1_000_000))]
    pub cached_input: Option<f64>,
    /// Input that was put into a cache; without it, as dear as the rest of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0, "maximum" = 1_000_000))]
    pub cache_write: Option<f64>,
    #[schemars(extend("minimum" = 0, "maximum" = 1_000_000))]
    pub output: f64,
}

impl Price {
    /// What so many tokens cost.
    pub fn cost_usd(&self, tokens: &StepUsage) -> f64 {
        let cached = tokens.cached_tokens.min(tokens.input_tokens);
        let written = tokens
            .cache_written_tokens
            .min(tokens.input_tokens - cached);
        let fresh = tokens.input_tokens - cached - written;
        let parts = [
            (fresh, self.input),
            (cached, self.cached_input.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (tokens.output_tokens, self.output),
        ];
        let millionths: f64 = parts.iter().map(|(tokens, usd)| *tokens as f64 * usd).sum();
        millionths / 1_000_000.0
    }
}

/// The price of a model, and under which name it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Quote {
    pub model: String,
    pub price: Price,
    /// From the configuration, not built in.
    pub own: bool,
}

impl Quote {
    /// How old the price is, in words.
    pub fn date(&self) -> String {
        match self.own {
            true => "prices of the configuration".to_owned(),
            false => format!("prices of {AS_OF}"),
        }
    }
}

/// How an agent's cost is known.
#[derive(Clone, Debug, PartialEq)]
pub enum CostSource {
    /// The tool itself tells it.
    Reported,
    /// A fixed sum of the configuration.
    PerIteration(f64),
    /// Its tokens times the price of its model.
    Priced(Quote),
    Unknown,
}

impl CostSource {
    /// One word, for machines.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::PerIteration(_) => "per_iteration",
            Self::Priced(_) => "priced",
            Self::Unknown => "unknown",
        }
    }
}

impl std::fmt::Display for CostSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::PerIteration(_) => formatter.write_str("per iteration"),
            Self::Priced(quote) => write!(formatter, "priced ({}, {})", quote.model, quote.date()),
            Self::Reported | Self::Unknown => formatter.write_str(self.as_str()),
        }
    }
}

/// All known prices.
#[derive(Clone, Debug, Default)]
pub struct Prices {
    own: IndexMap<String, Price>,
}

impl Prices {
    /// The built-in prices under those of the configuration.
    pub fn new(own: &IndexMap<String, Price>) -> Self {
        let lowered = own
            .iter()
            .map(|(name, price)| (name.to_lowercase(), *price));
        Self {
            own: lowered.collect(),
        }
    }

    /// The price of a model: by its name, by the longest known name that it begins with, or by either without its provider.
    pub fn quote(&self, model: &str) -> Option<Quote> {
        let model = model.trim().to_lowercase();
        let bare = model.rsplit('/').next().unwrap_or_default();
        self.longest(&model).or_else(|| self.longest(bare))
    }

    fn longest(&self, model: &str) -> Option<Quote> {
        let own = self
            .own
            .iter()
            .map(|(name, price)| (name.as_str(), *price, true));
        let built_in = BUILT_IN.iter().map(|(name, price)| (*name, *price, false));
        let (name, price, own) = built_in
            .chain(own)
            .filter(|(name, ..)| is_variant(model, name))
            // Of two names of the same length, the last: the one of the configuration.
            .max_by_key(|(name, ..)| name.len())?;
        Some(Quote {
            model: name.to_owned(),
            price,
            own,
        })
    }
}

/// `gpt-5-2026-01-01` is a variant of `gpt-5`, `gpt-5.1` is not.
fn is_variant(model: &str, name: &str) -> bool {
    let rest = model.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

const fn usd(input: f64, cached_input: f64, output: f64) -> Price {
    Price {
        input,
        cached_input: Some(cached_input),
        cache_write: None,
        output,
    }
}

/// Anthropic takes a quarter more for input that it is to remember.
const fn claude(input: f64, cached_input: f64, output: f64) -> Price {
    Price {
        cache_write: Some(input * 1.25),
        ..usd(input, cached_input, output)
    }
}

/// Models by the name that their makers call them in their interface.
const BUILT_IN: &[(&str, Price)] = &[
    ("gpt-6.1-sol", usd(2.0, 0.1, 10.0)),
    ("gpt-6-astra", usd(10.0, 1.0, 50.0)),
    ("gpt-6-sol", usd(2.0, 0.2, 10.0)),
    ("gpt-6-luna", usd(0.1, 0.01, 0.5)),
    ("gpt-5.6-sol", usd(4.0, 0.4, 20.0)),
    ("gpt-5.6-terra", usd(2.0, 0.2, 12.0)),
    ("gpt-5.6-luna", usd(0.2, 0.02, 1.2)),
    ("gpt-5.5", usd(5.0, 0.5, 30.0)),
    ("gpt-5.5-pro", usd(30.0, 30.0, 180.0)),
    ("gpt-5.4", usd(2.5, 0.25, 15.0)),
    ("gpt-5.4-pro", usd(30.0, 30.0, 180.0)),
    ("gpt-5.4-mini", usd(0.75, 0.075, 4.5)),
    ("gpt-5.4-nano", usd(0.2, 0.02, 1.25)),
    ("gpt-5.3-codex", usd(1.75, 0.175, 14.0)),
    ("gpt-5.2", usd(1.75, 0.175, 14.0)),
    ("gpt-5.2-pro", usd(21.0, 21.0, 168.0)),
    ("gpt-5.1", usd(1.25, 0.125, 10.0)),
    ("gpt-5.1-codex-mini", usd(0.25, 0.025, 2.0)),
    ("gpt-5", usd(1.25, 0.125, 10.0)),
    ("gpt-5-pro", usd(15.0, 15.0, 120.0)),
    ("gpt-5-mini", usd(0.25, 0.025, 2.0)),
    ("gpt-5-nano", usd(0.05, 0.005, 0.4)),
    ("gpt-4.1", usd(2.0, 0.5, 8.0)),
    ("gpt-4.1-mini", usd(0.4, 0.1, 1.6)),
    ("gpt-4.1-nano", usd(0.1, 0.025, 0.4)),
    ("gpt-4o", usd(2.5, 1.25, 10.0)),
    ("gpt-4o-mini", usd(0.15, 0.075, 0.6)),
    ("o3", usd(2.0, 0.5, 8.0)),
    ("o4-mini", usd(1.1, 0.275, 4.4)),
    ("claude-fable-5-1", claude(10.0, 0.25, 50.0)),
    ("claude-fable-5", claude(10.0, 1.0, 50.0)),
    ("claude-opus-5-5", claude(4.0, 0.2, 20.0)),
    ("claude-opus-5", claude(5.0, 0.5, 25.0)),
    ("claude-opus-4-8", claude(5.0, 0.5, 25.0)),
    ("claude-opus-4-7", claude(5.0, 0.5, 25.0)),
    ("claude-opus-4-6", claude(5.0, 0.5, 25.0)),
    ("claude-opus-4-5", claude(5.0, 0.5, 25.0)),
    ("claude-opus-4", claude(15.0, 1.5, 75.0)),
    ("claude-sonnet-5", claude(2.0, 0.2, 10.0)),
    ("claude-sonnet-4", claude(3.0, 0.3, 15.0)),
    ("claude-haiku-5-5", claude(0.1, 0.01, 0.5)),
    ("claude-haiku-4-5", claude(1.0, 0.1, 5.0)),
    ("claude-3-7-sonnet", claude(3.0, 0.3, 15.0)),
    ("claude-3-5-haiku", claude(0.8, 0.08, 4.0)),
    ("gemini-3.8-flash", usd(0.75, 0.075, 3.75)),
    ("gemini-3.7-flash", usd(0.75, 0.075, 3.75)),
    ("gemini-3.6-flash", usd(0.75, 0.075, 3.75)),
    ("gemini-3.5-flash", usd(1.5, 0.15, 9.0)),
    ("gemini-3.1-pro", usd(2.0, 0.2, 12.0)),
    ("gemini-3.1-flash-lite", usd(0.25, 0.025, 1.5)),
    ("gemini-3-pro", usd(2.0, 0.2, 12.0)),
    ("gemini-3-flash", usd(0.5, 0.05, 3.0)),
    ("gemini-2.5-pro", usd(1.25, 0.125, 10.0)),
    ("gemini-2.5-flash", usd(0.3, 0.03, 2.5)),
    ("gemini-2.5-flash-lite", usd(0.1, 0.01, 0.4)),
    ("qwen3-coder-plus", usd(1.0, 0.2, 5.0)),
    ("qwen3-coder-flash", usd(0.3, 0.06, 1.5)),
    ("qwen3-max", usd(1.2, 0.24, 6.0)),
    ("grok-4.6", usd(2.0, 0.5, 6.0)),
    ("grok-4.5", usd(2.0, 0.5, 6.0)),
    ("kimi-k3", usd(3.0, 0.3, 15.0)),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn prices() -> Prices {
        let own = [
            ("gpt-5", 99.0),
            ("My-Model", 1.0),
            ("openrouter/gpt-5-nano", 7.0),
        ];
        let own = own.map(|(name, input)| {
            let price = Price {
                input,
                cached_input: None,
                cache_write: None,
                output: 0.0,
            };
            (name.to_owned(), price)
        });
        Prices::new(&IndexMap::from_iter(own))
    }

    #[test]
    fn a_model_is_found_by_its_longest_known_name() {
        for (model, expected) in [
            ("gpt-5", Some(("gpt-5", true))),
            ("gpt-5-2026-01-01", Some(("gpt-5", true))),
            ("gpt-5-mini-2026-01-01", Some(("gpt-5-mini", false))),
            ("GPT-5-Mini", Some(("gpt-5-mini", false))),
            ("openai/gpt-5-mini", Some(("gpt-5-mini", false))),
            ("a/b/gpt-5-mini", Some(("gpt-5-mini", false))),
            (
                "openrouter/gpt-5-nano",
                Some(("openrouter/gpt-5-nano", true)),
            ),
            ("gpt-5.1", Some(("gpt-5.1", false))),
            ("gpt-5.9", None),
            ("gpt-50", None),
            ("my-model-7b", Some(("my-model", true))),
            ("claude-opus-4-20250514", Some(("claude-opus-4", false))),
            ("claude-opus-4-8", Some(("claude-opus-4-8", false))),
            ("gemini-3.1-pro-preview", Some(("gemini-3.1-pro", false))),
            ("mock-model", None),
            ("auto", None),
            ("", None),
        ] {
            let quote = prices().quote(model);
            let found = quote
                .as_ref()
                .map(|quote| (quote.model.as_str(), quote.own));
            assert_eq!(found, expected, "{model}");
        }
    }

    #[test]
    fn cached_tokens_are_priced_apart() {
        let price = usd(1.25, 0.125, 10.0);
        let plain = Price {
            cached_input: None,
            ..price
        };
        let remembers = claude(4.0, 0.2, 20.0);
        for (price, tokens, expected) in [
            (price, (1_000_000, 0, 0, 0), 1.25),
            (price, (1_000_000, 800_000, 0, 0), 0.35),
            (price, (0, 0, 0, 100_000), 1.0),
            (price, (1_000, 5_000, 0, 0), 0.000_125),
            (plain, (1_000_000, 800_000, 0, 0), 1.25),
            (plain, (1_000_000, 0, 1_000_000, 0), 1.25),
            (remembers, (1_000_000, 500_000, 400_000, 0), 2.5),
        ] {
            let (input_tokens, cached_tokens, cache_written_tokens, output_tokens) = tokens;
            let cost = price.cost_usd(&StepUsage {
                input_tokens,
                cached_tokens,
                cache_written_tokens,
                output_tokens,
            });
            assert!((cost - expected).abs() < 1e-9, "{tokens:?}: {cost}");
        }
    }

    #[test]
    fn the_table_has_each_name_once_and_a_date() {
        let mut names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), BUILT_IN.len());
        assert!(names.iter().all(|name| **name == name.to_lowercase()));
        AS_OF.parse::<jiff::civil::Date>().expect("a date");
        for (name, price) in BUILT_IN {
            let cached = price.cached_input.expect("a price of cached input");
            assert!(
                cached <= price.input && price.input < price.output,
                "{name}"
            );
        }
    }

    #[test]
    fn sources_of_cost_in_words() {
        let quote = |model: &str| prices().quote(model).expect("a price");
        for (source, words) in [
            (CostSource::Reported, "reported".to_owned()),
            (CostSource::PerIteration(0.5), "per iteration".to_owned()),
            (CostSource::Unknown, "unknown".to_owned()),
            (
                CostSource::Priced(quote("gpt-5.2-codex")),
                format!("priced (gpt-5.2, prices of {AS_OF})"),
            ),
            (
                CostSource::Priced(quote("gpt-5")),
                "priced (gpt-5, prices of the configuration)".to_owned(),
            ),
        ] {
            assert_eq!(source.to_string(), words);
        }
    }
}
