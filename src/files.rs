//! Reading and writing files that others can reach: never follow a link, never block on a pipe, never leave half a file.
//! It must not know what the files mean.

use anyhow::{Context, Result};
use rustix::fs::{FileType, Mode, OFlags};
use std::fs::{DirBuilder, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Why a file cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub enum Unreadable {
    Missing,
    /// A link, a pipe, a device, a directory: said in words.
    NotAFile(&'static str),
    TooLarge {
        bytes: u64,
    },
    Failed(String),
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unreadable::Missing => formatter.write_str("it is gone"),
            Unreadable::NotAFile(kind) => write!(formatter, "it is {kind}, not a regular file"),
            Unreadable::TooLarge { bytes } => write!(formatter, "it is too large ({bytes} bytes)"),
            Unreadable::Failed(reason) => formatter.write_str(reason),
        }
    }
}

/// Reads a regular file of at most `max_bytes`. Type and size are those of the opened file, so a swap after a look cannot cheat.
pub fn read_regular(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Unreadable> {
    let (content, _) = read_opened(path, OFlags::NOFOLLOW, max_bytes)?;
    Ok(content)
}

/// The same for a path that its owner chose, where a link is no trap; with the permissions of what was opened.
pub fn read_linked(path: &Path, max_bytes: u64) -> Result<(Vec<u8>, u32), Unreadable> {
    read_opened(path, OFlags::empty(), max_bytes)
}

/// Opens a regular file of at most `max_bytes` for reading; a link is not followed.
pub fn open_regular(path: &Path, max_bytes: u64) -> Result<File, Unreadable> {
    let (file, _) = open_within(path, OFlags::NOFOLLOW, max_bytes)?;
    Ok(file)
}

fn read_opened(path: &Path, more: OFlags, max_bytes: u64) -> Result<(Vec<u8>, u32), Unreadable> {
    let (file, mode) = open_within(path, more, max_bytes)?;
    let mut content = Vec::new();
    let mut limited = file.take(max_bytes + 1);
    limited
        .read_to_end(&mut content)
        .map_err(|error| Unreadable::Failed(error.to_string()))?;
    if content.len() as u64 > max_bytes {
        return Err(Unreadable::TooLarge {
            bytes: content.len() as u64,
        });
    }
    Ok((content, mode))
}

/// The opened file and its permissions.
fn open_within(path: &Path, more: OFlags, max_bytes: u64) -> Result<(File, u32), Unreadable> {
    let flags = more | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|error| why_not_open(path, error))?;
    let facts = rustix::fs::fstat(&file).map_err(|error| Unreadable::Failed(error.to_string()))?;
    let kind = FileType::from_raw_mode(facts.st_mode);
    if kind != FileType::RegularFile {
        return Err(Unreadable::NotAFile(kind_in_words(kind)));
    }
    let bytes = u64::try_from(facts.st_size).unwrap_or(0);
    if bytes > max_bytes {
        return Err(Unreadable::TooLarge { bytes });
    }
    Ok((File::from(file), facts.st_mode & 0o7777))
}

fn why_not_open(path: &Path, error: rustix::io::Errno) -> Unreadable {
    use rustix::io::Errno;
    match error {
        Errno::NOENT => Unreadable::Missing,
        Errno::LOOP => Unreadable::NotAFile("a symbolic link"),
        // A socket cannot be opened; the look afterwards only finds the words.
        _ => match std::fs::symlink_metadata(path) {
            Ok(facts) if !facts.file_type().is_file() => Unreadable::NotAFile(kind_in_words(
                FileType::from_raw_mode(std::os::unix::fs::MetadataExt::mode(&facts)),
            )),
            _ => Unreadable::Failed(format!("it cannot be opened: {error}")),
        },
    }
}

/// A kind of file, in words for people.
pub fn kind_in_words(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "an unknown kind of file",
    }
}

/// The last `max_bytes` of a file, as text; what is not UTF-8 is shown with replacement marks.
pub fn read_tail(path: &Path, max_bytes: u64) -> Result<String> {
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(max_bytes)))?;
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The end of a text, of so many bytes at most.
pub fn tail_of(text: &str, max_bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(max_bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// The beginning and the end of a file, as text, with a note of what was left out between them.
pub fn read_ends(path: &Path, head_bytes: u64, tail_bytes: u64) -> Result<String> {
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length <= head_bytes + tail_bytes {
        file.take(head_bytes + tail_bytes).read_to_end(&mut bytes)?;
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    (&mut file).take(head_bytes).read_to_end(&mut bytes)?;
    let left_out = length - head_bytes - tail_bytes;
    bytes.extend_from_slice(format!("\n[… {left_out} bytes left out …]\n").as_bytes());
    file.seek(SeekFrom::Start(length - tail_bytes))?;
    file.take(tail_bytes).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes a file so that a reader sees the whole of it or nothing, and so that it survives a power cut once this returns.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<()> {
    let directory = path.parent().context("a file needs a directory")?;
    let name = path.file_name().context("a file needs a name")?;
    let temporary = directory.join(format!(".{}.tmp", crate::clock::new_id()));
    let write = || -> std::io::Result<()> {
        let mut file = File::create_new(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        File::open(directory)?.sync_all()
    };
    write()
        .inspect_err(|_| {
            let _ = std::fs::remove_file(&temporary);
        })
        .with_context(|| {
            format!(
                "cannot write {} in {}",
                name.to_string_lossy(),
                directory.display()
            )
        })
}

/// Makes a directory, and those above it, for the owner's eyes only.
pub fn make_private_directory(path: &Path) -> Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("cannot make the directory {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("file"), "12345").unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        std::os::unix::fs::symlink("/nowhere", path("dangling")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("pipe"),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        assert_eq!(read_regular(&path("file"), 5).unwrap(), b"12345");
        for (name, reason) in [
            ("link", Unreadable::NotAFile("a symbolic link")),
            ("dangling", Unreadable::NotAFile("a symbolic link")),
            ("pipe", Unreadable::NotAFile("a named pipe")),
            ("socket", Unreadable::NotAFile("a socket")),
            (".", Unreadable::NotAFile("a directory")),
            ("missing", Unreadable::Missing),
        ] {
            assert_eq!(read_regular(&path(name), 5).unwrap_err(), reason, "{name}");
        }
        assert_eq!(
            read_regular(&path("file"), 4).unwrap_err(),
            Unreadable::TooLarge { bytes: 5 }
        );
    }

    #[test]
    fn both_ends_of_a_long_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        for (text, expected) in [
            ("", ""),
            ("12345678", "12345678"),
            ("123456789", "123\n[… 1 bytes left out …]\n56789"),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read_ends(&path, 3, 5).unwrap(), expected);
        }
    }

    #[test]
    fn whole_files_replace_and_leave_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("answer.md");
        write_whole(&target, b"one").unwrap();
        write_whole(&target, b"two").unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(write_whole(&directory.path().join("no/such/file"), b"").is_err());
    }
}
