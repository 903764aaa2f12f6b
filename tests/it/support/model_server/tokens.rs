//! What a request is said to have cost: made-up numbers, different for each request, so that a sum that forgets or repeats
//! one cannot be right by chance.

use std::ops::Add;

/// Tokens of one request; no token is in two of the fields, but for `reasoning`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Input that no cache had to do with.
    pub fresh: u64,
    pub cache_read: u64,
    /// Only where the dialect knows it.
    pub cache_written: u64,
    /// All output, reasoning in it.
    pub output: u64,
    pub reasoning: u64,
}

impl Tokens {
    /// Of the n-th request.
    pub fn of(number: u64) -> Self {
        Self {
            fresh: 1_000 + 100 * number,
            cache_read: 300 + 10 * number,
            cache_written: 0,
            output: 50 + 3 * number,
            reasoning: 5 + number,
        }
    }

    /// The same, with some of it written to a cache.
    pub fn with_cache_written(self) -> Self {
        Self {
            cache_written: self.fresh / 10,
            reasoning: 0,
            ..self
        }
    }

    /// All that went in.
    pub fn input(self) -> u64 {
        self.fresh + self.cache_read + self.cache_written
    }

    /// In USD, at prices for a million tokens.
    pub fn cost(self, prices: Prices) -> f64 {
        let at = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        at(self.fresh, prices.input)
            + at(self.cache_read, prices.cache_read)
            + at(self.cache_written, prices.cache_written)
            + at(self.output, prices.output)
    }
}

/// USD for a million tokens.
#[derive(Clone, Copy, Debug)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_written: f64,
}

impl Add for Tokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            fresh: self.fresh + other.fresh,
            cache_read: self.cache_read + other.cache_read,
            cache_written: self.cache_written + other.cache_written,
            output: self.output + other.output,
            reasoning: self.reasoning + other.reasoning,
        }
    }
}

impl std::iter::Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}
