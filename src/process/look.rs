//! How a turn stands, by its record alone. It changes nothing, except that `forget` removes what is over.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::Sighting;
use super::tree;
use super::turn::{self, Recorded};

/// Reads how the turn of this record stands at this moment.
///
/// The order of the three questions makes the answer true although the shim moves meanwhile. It takes the lock
/// before it marks the start, and records the end before it drops the lock. So a start seen *before* the lock was
/// found free belongs to a shim that is gone, and its record, read last, is either there or will never be.
pub fn look(record: &Path) -> Result<Sighting> {
    let before = turn::recorded(record)?;
    if let Recorded::Ended(ended) = before {
        return Ok(Sighting::Ended(ended));
    }
    if let Some(shim_pid) = turn::holder(record)? {
        return Ok(Sighting::Running { shim_pid });
    }
    Ok(match (turn::recorded(record)?, before) {
        (Recorded::Ended(ended), _) => Sighting::Ended(ended),
        (_, Recorded::Started) => Sighting::Lost,
        (_, _) => Sighting::NeverStarted,
    })
}

/// A variable of the environment that a running turn was started with; nothing where it does not run.
pub fn variable_of_turn(record: &Path, name: &str) -> Option<String> {
    let shim_pid = turn::holder(record).ok()??;
    tree::variable(shim_pid, name)
}

/// Removes the record, once its result is recorded elsewhere. A turn that runs is refused.
pub fn forget(record: &Path) -> Result<()> {
    if let Some(pid) = turn::holder(record)? {
        bail!(
            "{}: the turn still runs (shim {pid}); stop it first",
            record.display()
        );
    }
    match fs::remove_file(record) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", record.display()))
        }
        _ => Ok(()),
    }
}
