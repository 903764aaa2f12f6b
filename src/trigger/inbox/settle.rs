//! Which files have stopped changing: for those that nobody told us are whole.
//! Two looks at the same size and time, far enough apart by the steady clock; the wall clock may do what it likes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Names noticed at once; more are found by the next rescan.
const MAX_SETTLING: usize = 100_000;

/// What a look saw: size and time of the last change.
type Look = (u64, i64, i64);

/// Files that are being waited for.
pub struct Settling {
    settle: Duration,
    waiting: HashMap<OsString, (Look, Instant)>,
}

impl Settling {
    /// Files that do not change for `settle` are whole.
    pub fn new(settle: Duration) -> Self {
        Self {
            settle,
            waiting: HashMap::new(),
        }
    }

    /// Starts, or starts again when it changed, to wait for a file.
    pub fn notice(&mut self, folder: &Path, name: OsString, now: Instant) {
        let Some(look) = look_at(&folder.join(&name)) else {
            self.waiting.remove(&name);
            return;
        };
        if self.waiting.len() >= MAX_SETTLING {
            return;
        }
        match self.waiting.get_mut(&name) {
            Some((known, _)) if *known == look => {}
            Some(known) => *known = (look, now),
            None => {
                self.waiting.insert(name, (look, now));
            }
        }
    }

    /// No longer waits for a file.
    pub fn forget(&mut self, name: &OsString) {
        self.waiting.remove(name);
    }

    /// When it is worth looking again.
    pub fn next_look(&self) -> Option<Instant> {
        self.waiting
            .values()
            .map(|(_, since)| *since + self.settle)
            .min()
    }

    /// The files that have not changed for long enough; those that did start anew, those that are gone are forgotten.
    pub fn settled(&mut self, folder: &Path, now: Instant) -> Vec<OsString> {
        let mut whole = Vec::new();
        let settle = self.settle;
        self.waiting.retain(|name, (look, since)| {
            if now < *since + settle {
                return true;
            }
            match look_at(&folder.join(name)) {
                None => false,
                Some(again) if again == *look => {
                    whole.push(name.clone());
                    false
                }
                Some(changed) => {
                    (*look, *since) = (changed, now);
                    true
                }
            }
        });
        whole
    }
}

fn look_at(path: &Path) -> Option<Look> {
    let facts = std::fs::symlink_metadata(path).ok()?;
    Some((facts.len(), facts.mtime(), facts.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_file_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.md");
        let (name, settle) = (OsString::from("a.md"), Duration::from_millis(500));
        let start = Instant::now();
        let mut settling = Settling::new(settle);
        std::fs::write(&file, "one").unwrap();
        settling.notice(folder.path(), name.clone(), start);
        assert_eq!(settling.next_look(), Some(start + settle));
        assert!(
            settling
                .settled(folder.path(), start + settle / 2)
                .is_empty(),
            "too early"
        );
        std::fs::write(&file, "one two").unwrap();
        assert!(
            settling.settled(folder.path(), start + settle).is_empty(),
            "it grew"
        );
        assert_eq!(settling.settled(folder.path(), start + settle * 2), [name]);
        assert_eq!(settling.next_look(), None);
    }

    #[test]
    fn a_vanished_file_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let mut settling = Settling::new(Duration::ZERO);
        settling.notice(folder.path(), "gone.md".into(), Instant::now());
        assert_eq!(settling.next_look(), None);
    }
}
