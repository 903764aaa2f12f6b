//! The output file of a running turn, read as it grows. It is read again from its start after a restart: all that is
//! said of a turn must follow from the file alone.

use super::super::stream::{Format, Stream};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;

const CHUNK_BYTES: usize = 64 * 1024;
/// Of plain text only the end matters.
const TEXT_TAIL_BYTES: u64 = 512 * 1024;

/// How far a file has been read.
pub struct Tail {
    path: PathBuf,
    offset: u64,
    format: Format,
    pub stream: Stream,
}

impl Tail {
    /// Nothing is read yet.
    pub fn new(path: PathBuf, format: Format) -> Self {
        Self {
            path,
            offset: 0,
            format,
            stream: Stream::new(format),
        }
    }

    /// Reads what is there and was not read before. Blocking.
    pub fn read_on(&mut self) -> Result<()> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            // The agent never started.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", self.path.display()));
            }
        };
        if self.format == Format::Text {
            let length = file.metadata()?.len();
            self.offset = self.offset.max(length.saturating_sub(TEXT_TAIL_BYTES));
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let read = match file.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            self.stream.feed(&chunk[..read]);
            self.offset += read as u64;
        }
    }
}
