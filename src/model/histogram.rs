//! Counts of measured values, by how large they are. It only counts; who measures what, and how it is shown, is decided elsewhere.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many values there were up to each of some bounds. Any thread may add to it.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    /// One for each bound, and one for what is beyond the last.
    counts: Vec<AtomicU64>,
    /// The bits of a float: there is no atomic one.
    sum: AtomicU64,
}

/// What was counted up to a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// Each bound with the number of values that do not exceed it.
    pub upto: Vec<(f64, u64)>,
    pub count: u64,
    pub sum: f64,
}

impl Histogram {
    /// Counts by these bounds, which rise.
    pub fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0.0_f64.to_bits()),
        }
    }

    pub fn observe(&self, value: f64) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        self.counts[place].fetch_add(1, Ordering::Relaxed);
        let add = |bits| Some((f64::from_bits(bits) + value).to_bits());
        let _ = self
            .sum
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    /// What was counted so far. Sum and count may be apart by what is being added meanwhile.
    pub fn counted(&self) -> Counted {
        let mut count = 0;
        let mut so_far = |counter: &AtomicU64| {
            count += counter.load(Ordering::Relaxed);
            count
        };
        let cumulative: Vec<u64> = self.counts.iter().map(&mut so_far).collect();
        Counted {
            upto: self.bounds.iter().copied().zip(cumulative).collect(),
            count,
            sum: f64::from_bits(self.sum.load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_up_to_their_bounds() {
        let histogram = Histogram::new(&[0.5, 1.0, 10.0]);
        for value in [0.5, 0.6, 1.0, 3.0, 11.0, 100.0] {
            histogram.observe(value);
        }
        assert_eq!(
            histogram.counted(),
            Counted {
                upto: vec![(0.5, 1), (1.0, 3), (10.0, 4)],
                count: 6,
                sum: 116.1,
            }
        );
    }
}
