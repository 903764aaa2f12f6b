//! The record of a turn, one file: who holds it, whether its agent was started, how it ended.
//! It must not start or signal anything.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use crate::lock::{self, Lock};
use anyhow::{Context, Result};

use super::Ended;

/// Room for the record of the end, taken before the start; a full disk later must not cost the result.
const RECORD_BYTES: usize = 4096;
const STARTED: u8 = b'S';

/// Opens a file for writing that nobody else may read.
pub fn private(create_new: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .create_new(create_new)
        .mode(0o600);
    options
}

/// What the record of a turn says.
#[derive(Debug, PartialEq, Eq)]
pub enum Recorded {
    Nothing,
    Started,
    Ended(Ended),
}

/// A turn that this process holds; nobody else runs it.
pub struct Held {
    lock: Lock,
}

/// Takes the turn for the life of this process; none when another shim has it.
///
/// The file is locked by the shim all its life, blank until the agent is started, then holds a mark, and at the end how it
/// ended. One file for all of it, because one is made and removed for every iteration, and making files is what that costs.
pub fn take(record: &Path) -> Result<Option<Held>> {
    let lock = lock::take(record)?;
    Ok(lock.map(|lock| Held { lock }))
}

/// The process id of the shim that has the turn.
pub fn holder(record: &Path) -> Result<Option<i32>> {
    lock::holder(record)
}

/// What is recorded of the turn; for everybody but its holder.
pub fn recorded(record: &Path) -> Result<Recorded> {
    match fs::read(record) {
        Ok(bytes) => Ok(understand(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Recorded::Nothing),
        Err(error) => Err(error).with_context(|| format!("read {}", record.display())),
    }
}

/// An empty or torn record of the end counts as none.
fn understand(bytes: &[u8]) -> Recorded {
    match bytes.split_first() {
        Some((&STARTED, end)) => {
            serde_json::from_slice(end).map_or(Recorded::Started, Recorded::Ended)
        }
        _ => Recorded::Nothing,
    }
}

impl Held {
    /// What an earlier shim recorded.
    pub fn recorded(&self) -> Result<Recorded> {
        let mut bytes = vec![0; RECORD_BYTES];
        let read = self
            .lock
            .file()
            .read_at(&mut bytes, 0)
            .context("read the turn's record")?;
        Ok(understand(&bytes[..read]))
    }

    /// Takes the room for the end on the disk, then marks the start: from here on the turn is never run again.
    pub fn start(&self) -> Result<()> {
        let file = self.lock.file();
        file.write_all_at(&[b' '; RECORD_BYTES], 0)
            .context("reserve the turn's record")?;
        file.write_all_at(&[STARTED], 0).context("mark the start")
    }

    /// Records how the turn ended, within the room that was taken.
    pub fn end(&self, ended: &Ended) -> Result<()> {
        let text = serde_json::to_vec(ended).context("encode the end")?;
        self.lock
            .file()
            .write_all_at(&text, 1)
            .context("write the turn's record")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Cause, Exit};

    #[test]
    fn torn_records_count_as_absent() {
        for (text, expected) in [
            ("", Recorded::Nothing),
            ("    ", Recorded::Nothing),
            ("S   ", Recorded::Started),
            ("S{", Recorded::Started),
            (r#"S{"exit":{"code":0}}"#, Recorded::Started),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let record = dir.path().join("turn");
            fs::write(&record, text).unwrap();
            assert_eq!(recorded(&record).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_record_comes_back_as_written() {
        let dir = tempfile::tempdir().unwrap();
        let ended = Ended {
            exit: Exit::Signal(9),
            cause: Cause::TimedOut,
            stdout_bytes: 1,
            stderr_bytes: 2,
            truncated: true,
            leftovers_killed: 3,
            started_at_ms: 4,
            ended_at_ms: 5,
        };
        let held = take(&dir.path().join("turn")).unwrap().unwrap();
        assert_eq!(held.recorded().unwrap(), Recorded::Nothing);
        held.start().unwrap();
        assert_eq!(held.recorded().unwrap(), Recorded::Started);
        held.end(&ended).unwrap();
        assert_eq!(held.recorded().unwrap(), Recorded::Ended(ended));
    }

    #[test]
    fn nobody_holds_a_record_without_a_shim() {
        let dir = tempfile::tempdir().unwrap();
        let record = dir.path().join("turn");
        assert_eq!(holder(&record).unwrap(), None);
        fs::write(&record, "").unwrap();
        assert_eq!(holder(&record).unwrap(), None);
    }
}
