//! The capped copy of one output stream, from a pipe to a file, without its secrets, with memory that does not grow.
//! Past the cap the beginning and the newest part are kept: an agent's last words say how it went.
//! It must never stop reading: an agent blocked on a full pipe would hang.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::growing;
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
    /// How long the file is, with what was given up of it.
    written_bytes: u64,
    /// What was given up of the file, to make room for what came later.
    gap: Range<u64>,
    /// The end of the stream is not in the file.
    cut_off: bool,
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
            written_bytes: 0,
            // One byte in four is for the end.
            gap: cap_bytes - cap_bytes / 4..cap_bytes - cap_bytes / 4,
            cut_off: false,
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
        self.cut_off || !self.gap.is_empty()
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

    fn store(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.cut_off {
            let kept_bytes = self.written_bytes - (self.gap.end - self.gap.start);
            let room = usize::try_from(self.cap_bytes - kept_bytes).unwrap_or(usize::MAX);
            let (fitting, rest) = bytes.split_at(bytes.len().min(room));
            self.write(fitting);
            bytes = rest;
            self.cut_off |= !bytes.is_empty() && !self.make_room();
        }
    }

    /// Gives up the older half of what was kept for the end. The file grows on: who reads it keeps their place.
    fn make_room(&mut self) -> bool {
        let kept_for_the_end = (self.cap_bytes - self.gap.start) / 2;
        let end = self.written_bytes.saturating_sub(kept_for_the_end);
        let Sink::Open(file) = &self.sink else {
            return false;
        };
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let given_up = end > self.gap.end
            && rustix::fs::fallocate(file, how, self.gap.end, end - self.gap.end).is_ok();
        if given_up {
            self.gap.end = end;
        }
        given_up
    }

    /// A failed write ends the writing for good.
    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Some(file) = self.sink.open() else {
                self.cut_off = true;
                return;
            };
            match file.write(bytes) {
                Ok(written) if written > 0 => {
                    self.written_bytes += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => self.sink = Sink::Closed,
            }
        }
    }

    /// Ends the file, with a note where something is missing from it.
    pub fn finish(&mut self, path: &Path) {
        let held = self.mask.finish();
        self.store(&held);
        // What cannot be tidied up stays as it is: nothing that was kept is missing from it.
        if !self.gap.is_empty() && tidy(path, &self.gap).is_ok() {
            self.sink = Sink::Closed;
        }
        if !self.cut_off {
            return;
        }
        let kept_bytes = self.written_bytes - (self.gap.end - self.gap.start);
        let note = format!("\n[ralphd: output truncated after {kept_bytes} bytes]\n");
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

/// Puts a file with a note in its place where one has a gap. Those who have the old one open read it to its end.
fn tidy(path: &Path, gap: &Range<u64>) -> io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".part");
    let written = without_gap(path, Path::new(&draft), gap);
    let tidied = written.and_then(|()| std::fs::rename(&draft, path));
    if tidied.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    tidied
}

fn without_gap(path: &Path, draft: &Path, gap: &Range<u64>) -> io::Result<()> {
    let mut old = File::open(path)?;
    let mut new = super::turn::private(false).truncate(true).open(draft)?;
    io::copy(&mut (&old).take(gap.start), &mut new)?;
    new.write_all(growing::note(gap.end - gap.start).as_bytes())?;
    old.seek(SeekFrom::Start(gap.end))?;
    io::copy(&mut old, &mut new)?;
    Ok(())
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
        let cut_off = |kept| format!("\n[ralphd: output truncated after {kept} bytes]\n");
        let gap = growing::note;
        for (cap, input, text, truncated) in [
            (10, "", String::new(), false),
            (10, "0123456789", "0123456789".into(), false),
            (10, "0123456789a", format!("01234567{}9a", gap(1)), true),
            (10, "0123456789abc", format!("01234567{}bc", gap(3)), true),
            (
                16,
                "0123456789abcdefghijklmn",
                format!("0123456789ab{}klmn", gap(8)),
                true,
            ),
            // Too small to have an end of its own.
            (0, "abc", cut_off(0), true),
            (3, "0123456789", format!("012{}", cut_off(3)), true),
        ] {
            assert_eq!(
                pumped(cap, input.as_bytes()),
                (text, input.len() as u64, truncated),
                "{cap} {input}"
            );
        }
    }

    #[test]
    fn who_looks_on_sees_the_end_and_what_is_missing() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        let sink = Sink::Open(File::create(&path).unwrap());
        let cap_bytes = 256 * 1024;
        let mut pump = Pump::new(reader.into(), sink, cap_bytes, Mask::default().stream());
        let mut looking_on = [path.as_path(); 2].map(|path| growing::Growing::open(path).unwrap());
        let mut seen = [Vec::new(), Vec::new()];
        let mut chunk = vec![0; 4096];
        let mut said = Vec::new();
        for number in 0..100_000 {
            let line = format!("line {number}\n");
            writer.write_all(line.as_bytes()).unwrap();
            said.extend_from_slice(line.as_bytes());
            if number % 1_000 != 999 {
                continue;
            }
            pump.drain(&mut [0; BUFFER_BYTES]);
            // One keeps up; the other comes late.
            read_on(&mut looking_on[0], &mut chunk, &mut seen[0]);
            let on_disk = std::os::unix::fs::MetadataExt::blocks(&path.metadata().unwrap()) * 512;
            assert!(
                on_disk <= cap_bytes + 2 * 4096,
                "{on_disk} bytes on the disk"
            );
        }
        pump.finish(&path);
        for (growing, seen) in looking_on.iter_mut().zip(&mut seen) {
            read_on(growing, &mut chunk, seen);
        }
        assert!(seen[0] == said, "nothing is missing for who kept up");
        let late = String::from_utf8(seen[1].clone()).unwrap();
        assert!(late.starts_with("line 0\n") && late.ends_with("line 99999\n"));
        assert!(late.contains("bytes left out here]\n") && !late.contains('\0'));
        let tidy = std::fs::read_to_string(&path).unwrap();
        assert!(tidy.starts_with("line 0\n") && tidy.ends_with("line 99999\n"));
        assert!(tidy.len() as u64 <= cap_bytes + 64 && !tidy.contains('\0'));
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
    }

    fn read_on(growing: &mut growing::Growing, chunk: &mut [u8], seen: &mut Vec<u8>) {
        loop {
            match growing.read(chunk).unwrap() {
                0 => return,
                read => seen.extend_from_slice(&chunk[..read]),
            }
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
