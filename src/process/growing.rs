//! An output file while it grows, read by those who look on. Where a stream is longer than its cap, the shim gives up the middle of the
//! file behind them; they read a note in its place, the same that stands there in the end.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

/// What stands in the place of what was given up.
pub fn note(left_out_bytes: u64) -> String {
    format!("\n[ralphd: {left_out_bytes} bytes left out here]\n")
}

/// How far a growing file has been read. It stays the same file when the shim puts a tidy one in its place.
pub struct Growing {
    file: File,
    offset: u64,
    after_gap: bool,
}

impl Growing {
    /// The file, of which nothing has been read.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            offset: 0,
            after_gap: false,
        })
    }

    /// Passes over all but the last `max_bytes` that are there now.
    pub fn skip_to_last(&mut self, max_bytes: u64) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        self.offset = self.offset.max(length.saturating_sub(max_bytes));
        Ok(())
    }

    /// The next bytes, none where there are no more yet. `chunk` must have room for a note.
    pub fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        loop {
            let kept_from = self.kept_from()?;
            if kept_from > self.offset {
                let note = note(kept_from - self.offset);
                self.offset = kept_from;
                self.after_gap = true;
                chunk[..note.len()].copy_from_slice(note.as_bytes());
                return Ok(note.len());
            }
            let read = match self.file.read_at(chunk, self.offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            self.offset += read as u64;
            // The file system gives up whole blocks; of the others it only blanks what is given up.
            let blank = match std::mem::take(&mut self.after_gap) {
                true => chunk[..read].iter().take_while(|byte| **byte == 0).count(),
                false => 0,
            };
            if blank == 0 {
                return Ok(read);
            }
            chunk.copy_within(blank..read, 0);
            self.after_gap = blank == read;
            if blank < read {
                return Ok(read - blank);
            }
        }
    }

    /// Where the next bytes are that were not given up.
    fn kept_from(&self) -> io::Result<u64> {
        match rustix::fs::seek(&self.file, SeekFrom::Data(self.offset)) {
            Ok(kept_from) => Ok(kept_from),
            // The end of the file, or a file that cannot have gaps.
            Err(Errno::NXIO | Errno::INVAL | Errno::OPNOTSUPP | Errno::SPIPE) => Ok(self.offset),
            Err(error) => Err(error.into()),
        }
    }
}
