//! A file that one process holds for its life: who is the daemon of a state directory, who supervises a turn.
//!
//! A POSIX record lock rather than `flock`: the kernel names its holder to whoever asks, asking does not take it, and no forked
//! child shares it. The holder must not open the file a second time: closing that would drop the lock.

use anyhow::{Context, Result};
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::process::{Flock, FlockOffsetType, FlockType};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file, held; given back when dropped, or with the process.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// The held file itself: the only way in which its holder may touch it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Writes a line into the file, for people who look at it.
    pub fn inscribe(&mut self, line: &str) -> Result<()> {
        self.file.set_len(0)?;
        writeln!(self.file, "{line}").context("cannot write into the lock file")
    }
}

/// Takes the file for the life of this process; none when another process has it.
pub fn take(path: &Path) -> Result<Option<Lock>> {
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Lock { file })),
        Err(Errno::AGAIN | Errno::ACCESS) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
}

/// The process that holds the file.
pub fn holder(path: &Path) -> Result<Option<i32>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot open {}", path.display()));
        }
    };
    let question = Flock {
        start: 0,
        length: 0,
        pid: None,
        typ: FlockType::WriteLock,
        offset_type: FlockOffsetType::Set,
    };
    let blocking = rustix::process::fcntl_getlk(&file, &question)
        .with_context(|| format!("cannot ask who holds {}", path.display()))?;
    match blocking {
        None => Ok(None),
        Some(lock) => {
            let pid = lock
                .pid
                .context("its holder runs in a process namespace that is not visible from here")?;
            Ok(Some(pid.as_raw_nonzero().get()))
        }
    }
}
