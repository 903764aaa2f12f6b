//! The inbox: what is taken, when, how often, and what is refused.

mod hostile;
mod names;
mod taking;

use crate::support::{Site, wait_for};
use std::ffi::OsStr;
use std::path::PathBuf;

/// A request that is kept and never run.
const FOR_LATER: &str = "---\nnot_before: 2999-01-01T00:00:00Z\n---\nGo.";

fn rejected(site: &Site, name: &OsStr) -> PathBuf {
    site.inbox().join("rejected").join(name)
}

/// Waits until an entry lies in `rejected/`, and reads the reason beside it.
fn reason_for(site: &Site, name: &OsStr) -> String {
    let entry = rejected(site, name);
    wait_for(&format!("the rejection of {}", name.display()), || {
        entry.symlink_metadata().ok()
    });
    let mut note = name.to_owned();
    note.push(".error.txt");
    std::fs::read_to_string(rejected(site, &note))
        .unwrap_or_else(|error| panic!("no reason for {}: {error}", name.display()))
}

fn entries(folder: PathBuf) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}
