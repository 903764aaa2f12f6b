//! How fast the store is, and how far those are who read the history on. Kept in memory, for whoever watches the daemon; no decision
//! goes by it.

use crate::model::histogram::Histogram;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// From a commit on a fast disk to one that hangs.
const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
];
/// Up to the most jobs that share a commit.
const JOBS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// What is measured of a store.
#[derive(Debug)]
pub struct Pace {
    /// How long a writer waits until its work is on disk, in seconds.
    pub write: Histogram,
    /// How long one commit takes, in seconds.
    pub commit: Histogram,
    /// How many jobs share a commit.
    pub group: Histogram,
    readers: Mutex<BTreeMap<&'static str, i64>>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            write: Histogram::new(SECONDS),
            commit: Histogram::new(SECONDS),
            group: Histogram::new(JOBS),
            readers: Mutex::default(),
        }
    }
}

impl Pace {
    /// A reader of the history has gone through all of it up to a number.
    pub fn has_read(&self, reader: &'static str, upto: i64) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.insert(reader, upto);
    }

    /// A reader has nobody to read for.
    pub fn rests(&self, reader: &'static str) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.remove(reader);
    }

    /// How far each of them is.
    pub fn readers(&self) -> BTreeMap<&'static str, i64> {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.clone()
    }
}
