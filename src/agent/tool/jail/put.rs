//! Writing in the jail: the directory is opened first, the content goes to a file of another name in it, and a rename
//! makes it the file. Nobody sees half of it, and nothing swapped meanwhile leads the write elsewhere.

use super::{Jail, facts, words};
use crate::agent::tool::Fault;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

const GIT: &str = ".git";
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A place for a file.
pub struct Destination {
    parent: OwnedFd,
    name: OsString,
    /// The permissions of the file that is there.
    mode: Option<u32>,
    written: String,
}

impl Jail {
    /// The place that a path names; directories on the way are made.
    pub fn destination(&self, written: &str) -> Result<Destination, Fault> {
        let path = self.locate(written)?;
        let found = self.resolve(&self.root, &path, OFlags::PATH | OFlags::CLOEXEC);
        let destination = match found {
            Ok(there) => self.replacing(&there, written)?,
            Err(Errno::NOENT) => self.creating(&path, written)?,
            Err(error) => return Err(words::not_opened(written, error)),
        };
        let above = self.beneath(&destination.parent)?;
        if is_git(&destination.name) || above.iter().any(is_git) {
            return Err(words::in_git(written));
        }
        Ok(destination)
    }

    /// Through links to the file itself: a link stays a link.
    fn replacing(&self, there: &OwnedFd, written: &str) -> Result<Destination, Fault> {
        let facts = facts(there, written)?;
        let kind = FileType::from_raw_mode(facts.st_mode);
        if kind != FileType::RegularFile {
            return Err(words::not_a_file(written, kind));
        }
        let mode = facts.st_mode & 0o777;
        if mode & 0o222 == 0 {
            return Err(words::read_only(written, mode));
        }
        let path = self.beneath(there)?;
        let (above, name) = split(&path).ok_or_else(|| words::not_opened(written, Errno::NOENT))?;
        let parent = self
            .resolve(&self.root, &above, DIRECTORY)
            .map_err(|error| words::not_opened(written, error))?;
        Ok(Destination {
            parent,
            name,
            mode: Some(mode),
            written: written.to_owned(),
        })
    }

    fn creating(&self, path: &Path, written: &str) -> Result<Destination, Fault> {
        let (above, name) = match split(path) {
            Some(parts) if !written.ends_with('/') => parts,
            _ => return Err(words::not_opened(written, Errno::NOENT)),
        };
        let parent = match self.resolve(&self.root, &above, DIRECTORY) {
            Ok(parent) => parent,
            Err(Errno::NOENT) => self.make_way(&above, written)?,
            Err(error) => return Err(words::not_opened(written, error)),
        };
        // It was not found; a link of this name leads to nothing or out.
        if rustix::fs::statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Err(words::dangling(written));
        }
        Ok(Destination {
            parent,
            name,
            mode: None,
            written: written.to_owned(),
        })
    }

    fn make_way(&self, above: &Path, written: &str) -> Result<OwnedFd, Fault> {
        let refused = |error| words::not_written(written, error);
        let start = if above.is_absolute() { "/" } else { "." };
        let mut way = PathBuf::from(start);
        let mut last = self.resolve(&self.root, &way, DIRECTORY).map_err(refused)?;
        for part in above.components() {
            let name = match part {
                Component::Normal(name) => name,
                Component::ParentDir => return Err(words::upwards(written)),
                _ => continue,
            };
            if is_git(name) {
                return Err(words::in_git(written));
            }
            way.push(name);
            let next = match self.resolve(&self.root, &way, DIRECTORY) {
                Err(Errno::NOENT) => {
                    match rustix::fs::mkdirat(&last, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) => {}
                        Err(Errno::EXIST) => return Err(words::dangling(written)),
                        Err(error) => return Err(refused(error)),
                    }
                    self.resolve(&self.root, &way, DIRECTORY)
                }
                opened => opened,
            };
            last = next.map_err(refused)?;
        }
        Ok(last)
    }
}

/// Directory and name; nothing where the last part is no name.
fn split(path: &Path) -> Option<(PathBuf, OsString)> {
    let name = path.file_name()?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    Some((above.unwrap_or(Path::new(".")).to_owned(), name.to_owned()))
}

fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(GIT)
}

impl Destination {
    /// Whether a file is there already.
    pub fn exists(&self) -> bool {
        self.mode.is_some()
    }

    /// Puts a file of this content here, whole or not at all.
    pub fn put(&self, content: &[u8]) -> Result<(), Fault> {
        let temporary = format!(".ralphd-{}.tmp", uuid::Uuid::now_v7());
        let result = self.put_by(&temporary, content);
        if result.is_err() {
            let _ = rustix::fs::unlinkat(&self.parent, &temporary, AtFlags::empty());
        }
        result.map_err(|error| words::not_written(&self.written, error))
    }

    fn put_by(&self, temporary: &str, content: &[u8]) -> Result<(), Errno> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let descriptor = rustix::fs::openat(&self.parent, temporary, flags, mode)?;
        let mut file = File::from(descriptor);
        let wrote = file.write_all(content);
        wrote.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        if let Some(mode) = self.mode {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        rustix::fs::renameat(&self.parent, temporary, &self.parent, &self.name)
    }
}
