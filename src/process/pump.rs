//! The capped copy of one output stream, from a pipe to a file, without its secrets, with memory that does not grow.
//! It must never stop reading: an agent blocked on a full pipe would hang.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::io::Errno;

use crate::model::mask::MaskedStream;

pub const BUFFER_BYTES: usize = 64 * 1024;
/// A process left behind may write for ever; no pipe holds more than this by default.
const DRAIN_MAX_BYTES: u64 = 1024 * 1024;

/// Where a stream is kept.
pub enum Sink {
    Open(File),
    /// Made with the first byte: most agents say nothing on stderr.
    OnDemand(PathBuf),
    /// A write failed: going on after it would leave a hole in the middle.
    Closed,
}

impl Sink {
    fn open(&mut self) -> Option<&mut File> {
        if let Sink::OnDemand(path) = self {
            let made = super::turn::private(false).truncate(true).open(&*path);
            *self = made.map_or(Sink::Closed, Sink::Open);
        }
        match self {
            Sink::Open(file) => Some(file),
            _ => None,
        }
    }
}

pub struct Pump {
    pipe: Option<OwnedFd>,
    sink: Sink,
    cap_bytes: u64,
    seen_bytes: u64,
    kept_bytes: u64,
    truncated: bool,
    mask: MaskedStream,
}

/// What one read brought.
#[derive(PartialEq, Eq, Debug)]
pub enum Flow {
    Bytes(usize),
    Nothing,
}

impl Pump {
    /// `pipe` must be non-blocking.
    pub fn new(pipe: OwnedFd, sink: Sink, cap_bytes: u64, mask: MaskedStream) -> Self {
        Self {
            pipe: Some(pipe),
            sink,
            cap_bytes,
            seen_bytes: 0,
            kept_bytes: 0,
            truncated: false,
            mask,
        }
    }

    /// The pipe to wait for, while it is open.
    pub fn source(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    pub fn seen_bytes(&self) -> u64 {
        self.seen_bytes
    }

    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Moves at most one buffer.
    pub fn step(&mut self, buffer: &mut [u8]) -> Flow {
        let Some(pipe) = &self.pipe else {
            return Flow::Nothing;
        };
        match rustix::io::read(pipe, &mut *buffer) {
            Ok(0) => {
                self.pipe = None;
                Flow::Nothing
            }
            Ok(read) => {
                self.keep(&buffer[..read]);
                Flow::Bytes(read)
            }
            Err(Errno::AGAIN | Errno::INTR) => Flow::Nothing,
            Err(_) => {
                self.pipe = None;
                Flow::Nothing
            }
        }
    }

    /// Moves what the pipe holds now, without waiting for more.
    pub fn drain(&mut self, buffer: &mut [u8]) {
        let end = self.seen_bytes.saturating_add(DRAIN_MAX_BYTES);
        while self.seen_bytes < end && self.step(buffer) != Flow::Nothing {}
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.seen_bytes += bytes.len() as u64;
        let shown = self.mask.feed(bytes).into_owned();
        self.store(&shown);
    }

    fn store(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.cap_bytes - self.kept_bytes).unwrap_or(usize::MAX);
        let fitting = &bytes[..bytes.len().min(room)];
        self.truncated |= fitting.len() < bytes.len();
        self.write(fitting);
    }

    /// A failed write ends the writing for good.
    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Some(file) = self.sink.open() else {
                self.truncated = true;
                return;
            };
            match file.write(bytes) {
                Ok(written) if written > 0 => {
                    self.kept_bytes += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                _ => self.sink = Sink::Closed,
            }
        }
    }

    /// Ends the file, with the note when something is missing from it.
    pub fn finish(&mut self, path: &std::path::Path) {
        let held = self.mask.finish();
        self.store(&held);
        if !self.truncated {
            return;
        }
        let note = format!(
            "\n[ralphd: output truncated after {} bytes]\n",
            self.kept_bytes
        );
        let file = match std::mem::replace(&mut self.sink, Sink::Closed) {
            Sink::Open(file) => Some(file),
            _ => File::options().append(true).open(path).ok(),
        };
        // On a full disk the note is lost as well; the record of the end still says `truncated`.
        if let Some(mut file) = file {
            let _ = file.write_all(note.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::mask::Mask;

    fn pumped(cap_bytes: u64, input: &[u8]) -> (String, u64, bool) {
        let (reader, mut writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let target = tempfile::NamedTempFile::new().unwrap();
        let file = target.reopen().unwrap();
        let sink = Sink::Open(file);
        let mut pump = Pump::new(reader.into(), sink, cap_bytes, Mask::default().stream());
        let mut buffer = [0; 8];
        writer.write_all(input).unwrap();
        pump.drain(&mut buffer);
        drop(writer);
        assert_eq!(pump.step(&mut buffer), Flow::Nothing);
        assert!(pump.source().is_none(), "an ended pipe is closed");
        pump.finish(target.path());
        let text = std::fs::read_to_string(target.path()).unwrap();
        (text, pump.seen_bytes(), pump.truncated())
    }

    #[test]
    fn keeps_up_to_the_cap() {
        let note = |kept| format!("\n[ralphd: output truncated after {kept} bytes]\n");
        for (cap, input, text, truncated) in [
            (10, "", String::new(), false),
            (10, "0123456789", "0123456789".into(), false),
            (10, "0123456789a", format!("0123456789{}", note(10)), true),
            (0, "abc", note(0), true),
            (
                3,
                "0123456789012345678901234567890123",
                format!("012{}", note(3)),
                true,
            ),
        ] {
            assert_eq!(
                pumped(cap, input.as_bytes()),
                (text, input.len() as u64, truncated),
                "{cap} {input}"
            );
        }
    }

    #[test]
    fn a_full_disk_stops_the_file_and_not_the_pipe() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut pump = Pump::new(
            reader.into(),
            Sink::Open(full),
            100,
            Mask::default().stream(),
        );
        writer.write_all(b"lost").unwrap();
        pump.drain(&mut [0; 8]);
        writer.write_all(b"lost too").unwrap();
        pump.drain(&mut [0; 8]);
        assert_eq!((pump.seen_bytes(), pump.truncated()), (12, true));
        assert!(pump.source().is_some());
    }
}
