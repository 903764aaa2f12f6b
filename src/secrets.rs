//! The secrets this process knows: those of its environment, and the keys it has read from files since. They live in its
//! memory and nowhere else; whoever writes anything down asks here for the mask of this moment.

pub mod file;

use crate::model::mask::{Mask, is_secret_name};
use anyhow::{Result, bail};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

/// A word of so many random bytes that nobody can guess.
pub fn random_word(bytes: usize) -> Result<String> {
    use ring::rand::{SecureRandom, SystemRandom};
    let mut random = vec![0; bytes];
    if SystemRandom::new().fill(&mut random).is_err() {
        bail!("the system has no random numbers");
    }
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Keys that were read from files: the newest of them, for a key that changes every hour must not slow down everything for ever.
const MAX_LEARNED: usize = 256;

/// A growing set of secrets; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Vault(Arc<RwLock<Inside>>);

#[derive(Default)]
struct Inside {
    given: Vec<String>,
    learned: VecDeque<String>,
    mask: Arc<Mask>,
}

impl std::fmt::Debug for Inside {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}", self.mask)
    }
}

impl Vault {
    /// The secrets of this process's environment: values under names that say so, and under those in `more`.
    pub fn of_environment(more: &[String]) -> Self {
        let readable = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let secret = readable.filter(|(name, _)| is_secret_name(name, more));
        Self::new(secret.map(|(_, value)| value).collect())
    }

    fn new(given: Vec<String>) -> Self {
        let mask = Arc::new(Mask::new(given.iter().cloned()));
        Self(Arc::new(RwLock::new(Inside {
            given,
            learned: VecDeque::new(),
            mask,
        })))
    }

    /// From now on this value is masked too, by everybody who has a clone.
    pub fn learn(&self, value: &str) {
        let mut inside = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut known = inside.given.iter().chain(&inside.learned);
        if known.any(|known| known == value) {
            return;
        }
        if inside.learned.len() == MAX_LEARNED {
            inside.learned.pop_front();
        }
        inside.learned.push_back(value.to_owned());
        let all = inside.given.iter().chain(&inside.learned).cloned();
        inside.mask = Arc::new(Mask::new(all));
    }

    /// All that is known now, for a program that masks its own output.
    pub fn values(&self) -> Vec<String> {
        let inside = self.0.read().unwrap_or_else(PoisonError::into_inner);
        inside
            .given
            .iter()
            .chain(&inside.learned)
            .cloned()
            .collect()
    }

    /// The mask of all that is known now.
    pub fn mask(&self) -> Arc<Mask> {
        let inside = self.0.read().unwrap_or_else(PoisonError::into_inner);
        inside.mask.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_learned_is_masked_by_every_clone() {
        let vault = Vault::new(vec!["given-secret".to_owned()]);
        let clone = vault.clone();
        vault.learn("learned-secret");
        vault.learn("learned-secret");
        let text = "given-secret, learned-secret";
        assert_eq!(clone.mask().text(text), "[masked], [masked]");
        assert_eq!(
            format!("{clone:?}"),
            "Vault(RwLock { data: Mask of 2 secrets, poisoned: false, .. })"
        );
    }

    #[test]
    fn the_oldest_of_too_many_is_forgotten_but_never_a_given_one() {
        let vault = Vault::new(vec!["given-secret".to_owned()]);
        for number in 0..=MAX_LEARNED {
            vault.learn(&format!("learned-{number:04}"));
        }
        let mask = vault.mask();
        assert_eq!(mask.text("given-secret"), "[masked]");
        assert_eq!(mask.text("learned-0000"), "learned-0000");
        assert_eq!(mask.text("learned-0256"), "[masked]");
    }
}
