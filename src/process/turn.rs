//! The turn directory: the names of its files, who holds it, and how its records are written and read.
//! It must not start or signal anything.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::lock::{self, Lock};
use anyhow::{Context, Result};

use super::{Ended, Program};

pub const PROGRAM: &str = "program.json";
pub const LOCK: &str = "lock";
pub const STARTED: &str = "started";
pub const EXIT: &str = "exit.json";
pub const SHIM_LOG: &str = "shim.log";
const EXIT_DRAFT: &str = "exit.new";

/// Room for the record of the end, taken before the start; a full disk later must not cost the result.
const EXIT_RECORD_BYTES: usize = 4096;
const PROGRAM_MAX_BYTES: u64 = 8 * 1024 * 1024;

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

/// Takes the turn for the life of this process; none when another shim has it.
pub fn take(dir: &Path) -> Result<Option<Lock>> {
    lock::take(&dir.join(LOCK))
}

/// The process id of the shim that has the turn.
pub fn holder(dir: &Path) -> Result<Option<i32>> {
    lock::holder(&dir.join(LOCK))
}

/// Writes under a name of its own and renames: a reader sees the old or the new, never a part.
pub fn write_program(dir: &Path, program: &Program) -> Result<()> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let draft = dir.join(format!(
        "program.{}.{}",
        std::process::id(),
        DRAFTS.fetch_add(1, Ordering::Relaxed)
    ));
    let text = serde_json::to_vec(program).context("encode the program")?;
    let written = private(false)
        .truncate(true)
        .open(&draft)
        .and_then(|mut file| file.write_all(&text))
        .and_then(|()| fs::rename(&draft, dir.join(PROGRAM)));
    written.with_context(|| format!("write {}", dir.join(PROGRAM).display()))
}

pub fn read_program(dir: &Path) -> Result<Program> {
    let path = dir.join(PROGRAM);
    let mut text = Vec::new();
    File::open(&path)
        .and_then(|file| file.take(PROGRAM_MAX_BYTES).read_to_end(&mut text))
        .with_context(|| format!("read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("parse {}", path.display()))
}

/// The recorded end; an empty or torn record counts as none.
pub fn read_end(dir: &Path) -> Result<Option<Ended>> {
    match fs::read(dir.join(EXIT)) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("read {}", dir.join(EXIT).display())),
    }
}

/// The place where the end will be written, its room on the disk already taken.
pub struct EndRecord {
    draft: File,
}

impl EndRecord {
    pub fn reserve(dir: &Path) -> Result<Self> {
        let mut draft = private(false)
            .truncate(true)
            .open(dir.join(EXIT_DRAFT))
            .context("reserve the exit record")?;
        draft
            .write_all(&[b' '; EXIT_RECORD_BYTES])
            .context("reserve the exit record")?;
        Ok(Self { draft })
    }

    pub fn write(self, dir: &Path, ended: &Ended) -> Result<()> {
        let text = serde_json::to_vec(ended).context("encode the end")?;
        self.draft
            .write_all_at(&text, 0)
            .context("write the exit record")?;
        self.draft
            .set_len(text.len() as u64)
            .context("cut the exit record")?;
        fs::rename(dir.join(EXIT_DRAFT), dir.join(EXIT)).context("publish the exit record")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Cause, Exit};

    #[test]
    fn torn_records_count_as_absent() {
        for (text, present) in [
            ("", false),
            ("{", false),
            ("    ", false),
            (r#"{"exit":{"code":0}}"#, false),
        ] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join(EXIT), text).unwrap();
            assert_eq!(read_end(dir.path()).unwrap().is_some(), present, "{text:?}");
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
        let record = EndRecord::reserve(dir.path()).unwrap();
        assert_eq!(read_end(dir.path()).unwrap(), None);
        record.write(dir.path(), &ended).unwrap();
        assert_eq!(read_end(dir.path()).unwrap(), Some(ended));
    }

    #[test]
    fn nobody_holds_a_directory_without_a_shim() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(holder(dir.path()).unwrap(), None);
        fs::write(dir.path().join(LOCK), "").unwrap();
        assert_eq!(holder(dir.path()).unwrap(), None);
    }
}
