//! A file of numbered lines that only grows: where it was left off, and how it is put aside when it is long enough.
//! It must not know what the lines say, but for their numbers.

use anyhow::{Context, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What is written at once.
const BUFFER_BYTES: usize = 256 * 1024;
/// The end of a file is looked at in steps of this.
const CHUNK_BYTES: u64 = 64 * 1024;

/// The file, open for more.
pub(super) struct Lines {
    path: PathBuf,
    file: File,
    /// With what is in the buffer.
    bytes: u64,
    buffer: Vec<u8>,
    position: i64,
    max_bytes: u64,
    keep: u32,
}

#[derive(serde::Deserialize)]
struct Numbered {
    seq: i64,
}

impl Lines {
    /// Opens the file, or begins it. A line that was cut off is removed: it is written again.
    pub(super) fn open(path: &Path, max_bytes: u64, keep: u32) -> Result<Self> {
        let mut file = open(path)?;
        let (bytes, last) = whole_part(&mut file).with_context(|| said("read", path))?;
        file.set_len(bytes).with_context(|| said("mend", path))?;
        file.seek(SeekFrom::End(0))?;
        let last = match last {
            Some(line) => Some(line),
            // It was put aside, and nothing came since.
            None => last_line(&aside(path, 1))?,
        };
        let position = match last {
            Some(line) => {
                let read: Result<Numbered, _> = serde_json::from_str(&line);
                read.with_context(|| said("go on after the last line of", path))?
                    .seq
            }
            None => 0,
        };
        Ok(Self {
            path: path.to_owned(),
            file,
            bytes,
            buffer: Vec::new(),
            position,
            max_bytes,
            keep,
        })
    }

    /// The number of the last line.
    pub(super) fn position(&self) -> i64 {
        self.position
    }

    /// Adds a line, in a new file where the present one is full.
    pub(super) fn add(&mut self, number: i64, line: &str) -> Result<()> {
        let length = line.len() as u64 + 1;
        if self.bytes > 0 && self.bytes + length > self.max_bytes {
            self.put_aside()?;
        }
        self.buffer.extend_from_slice(line.as_bytes());
        self.buffer.push(b'\n');
        self.bytes += length;
        self.position = number;
        match self.buffer.len() >= BUFFER_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes what was added.
    pub(super) fn flush(&mut self) -> Result<()> {
        let written = self.file.write_all(&self.buffer);
        written.with_context(|| said("write", &self.path))?;
        self.buffer.clear();
        Ok(())
    }

    /// The history that it mirrors is another: what there is is put aside.
    pub(super) fn begin_anew(&mut self) -> Result<()> {
        self.put_aside()?;
        self.position = 0;
        Ok(())
    }

    /// The oldest goes, the others move on, the present one becomes the first of them. Killed in between, it is found there.
    fn put_aside(&mut self) -> Result<()> {
        self.flush()?;
        self.file
            .sync_all()
            .with_context(|| said("write", &self.path))?;
        for number in (1..self.keep).rev() {
            rename(&aside(&self.path, number), &aside(&self.path, number + 1))?;
        }
        rename(&self.path, &aside(&self.path, 1))?;
        self.file = open(&self.path)?;
        self.bytes = 0;
        Ok(())
    }
}

fn said(what: &str, path: &Path) -> String {
    format!("cannot {what} {}", path.display())
}

fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    options.open(path).with_context(|| said("open", path))
}

/// The name of a file that was put aside.
fn aside(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// A file that is not there needs no new name.
fn rename(from: &Path, to: &Path) -> Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| said("put aside", from))
        }
        _ => Ok(()),
    }
}

fn last_line(path: &Path) -> Result<Option<String>> {
    match File::open(path) {
        Ok(mut file) => {
            let (_, line) = whole_part(&mut file).with_context(|| said("read", path))?;
            Ok(line)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| said("open", path)),
    }
}

/// How long the part of whole lines is, and the last of them.
fn whole_part(file: &mut File) -> std::io::Result<(u64, Option<String>)> {
    let length = file.metadata()?.len();
    let mut tail = Vec::new();
    let mut start = length;
    loop {
        let ends = tail.iter().rposition(|byte| *byte == b'\n');
        let before = ends.and_then(|end| tail[..end].iter().rposition(|byte| *byte == b'\n'));
        if let Some(end) = ends
            && (before.is_some() || start == 0)
        {
            let line = &tail[before.map_or(0, |before| before + 1)..end];
            let line = String::from_utf8_lossy(line).into_owned();
            return Ok((start + end as u64 + 1, Some(line)));
        }
        if start == 0 {
            return Ok((0, None));
        }
        let step = CHUNK_BYTES.min(start);
        start -= step;
        let mut chunk = vec![0; step as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut chunk)?;
        chunk.append(&mut tail);
        tail = chunk;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: i64, words: &str) -> String {
        format!("{{\"seq\":{number},\"words\":\"{words}\"}}")
    }

    #[test]
    fn it_goes_on_after_the_last_whole_line() {
        let long = "x".repeat(200_000);
        for (content, position, kept) in [
            (String::new(), 0, 0),
            ("{\"seq\":1".to_owned(), 0, 0),
            (format!("{}\n", line(7, "a")), 7, 1),
            (format!("{}\n{}\n", line(7, "a"), line(9, &long)), 9, 2),
            (format!("{}\n{}\n{{\"se", line(7, "a"), line(9, "b")), 9, 2),
            (format!("{}\n{}", line(7, "a"), line(9, &long)), 7, 1),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("events.jsonl");
            fs::write(&path, &content).unwrap();
            let mut lines = Lines::open(&path, 1 << 20, 2).unwrap();
            assert_eq!(lines.position(), position, "{:.60}", content);
            lines.add(10, &line(10, "new")).unwrap();
            lines.flush().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(text.lines().count(), kept + 1);
            assert!(text.ends_with(&format!("{}\n", line(10, "new"))));
        }
    }

    #[test]
    fn full_files_are_put_aside_and_the_oldest_goes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.jsonl");
        let each = line(1, "a").len() as u64 + 1;
        for number in 1..=9 {
            // Opened anew for each line: nothing is remembered but by the files.
            let mut lines = Lines::open(&path, 2 * each, 2).unwrap();
            assert_eq!(lines.position(), number - 1);
            lines.add(number, &line(number, "a")).unwrap();
            lines.flush().unwrap();
        }
        let numbers = |path: &Path| -> Vec<i64> {
            let text = fs::read_to_string(path).unwrap();
            let lines = text.lines();
            lines
                .map(|line| serde_json::from_str::<Numbered>(line).unwrap().seq)
                .collect()
        };
        assert_eq!(numbers(&path), [9]);
        assert_eq!(numbers(&aside(&path, 1)), [7, 8]);
        assert_eq!(numbers(&aside(&path, 2)), [5, 6]);
        assert!(!aside(&path, 3).exists());
        // Killed after the present one was put aside.
        fs::rename(&path, aside(&path, 1)).unwrap();
        assert_eq!(Lines::open(&path, 2 * each, 2).unwrap().position(), 9);
    }
}
