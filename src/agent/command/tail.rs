//! The output file of a running turn, read as it grows. It is read again from its start after a restart: all that is
//! said of a turn must follow from the file alone.

use super::super::stream::{Format, Stream};
use crate::model::usage::Usage;
use crate::process::Growing;
use anyhow::{Context, Result};
use std::io::ErrorKind;
use std::path::PathBuf;

const CHUNK_BYTES: usize = 64 * 1024;
/// What is read at once: the tool calls in it wait in memory until they are told.
const STRETCH_BYTES: usize = 1024 * 1024;
/// Of plain text only the end matters.
const TEXT_TAIL_BYTES: u64 = 512 * 1024;

/// How far a file has been read.
pub struct Tail {
    path: PathBuf,
    file: Option<Growing>,
    format: Format,
    pub stream: Stream,
    /// What the same turn had used when this output was begun anew.
    pub before: Usage,
}

impl Tail {
    /// Nothing is read yet.
    pub fn new(path: PathBuf, format: Format, before: Usage) -> Self {
        Self {
            path,
            file: None,
            format,
            stream: Stream::new(format),
            before,
        }
    }

    /// Reads a stretch of what is there and was not read before; tells whether there may be more. Blocking.
    pub fn read_on(&mut self) -> Result<bool> {
        self.feed()
            .with_context(|| format!("cannot read {}", self.path.display()))
    }

    fn feed(&mut self) -> std::io::Result<bool> {
        let file = match &mut self.file {
            Some(file) => file,
            None => match Growing::open(&self.path) {
                Ok(file) => self.file.insert(file),
                // The agent never started.
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(error),
            },
        };
        if self.format == Format::Text {
            file.skip_to_last(TEXT_TAIL_BYTES)?;
        }
        let mut chunk = vec![0; CHUNK_BYTES];
        for _ in 0..STRETCH_BYTES / CHUNK_BYTES {
            match file.read(&mut chunk)? {
                0 => return Ok(false),
                read => self.stream.feed(&chunk[..read]),
            }
        }
        Ok(true)
    }
}
