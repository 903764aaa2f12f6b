//! The only way of a tool to a file: every path is resolved by the kernel beneath the workspace (`openat2`), from a
//! descriptor that was opened once, so that neither `..` nor a link, swapped while we look, leads out.
//! It must not compare paths to find out where they lead, except to say it better.

mod put;
mod words;

use super::Fault;
use super::room::External;
use anyhow::{Context, Result};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Who renames all the time makes the kernel ask us to try again.
const MAX_TRIES: usize = 200;
const MAX_PATH_BYTES: usize = 4096;
const PROC_MAGIC: i64 = 0x9fa0;

/// A workspace, opened.
pub struct Jail {
    root: OwnedFd,
    workspace: PathBuf,
    /// The workspace as it may be spelled in an absolute path.
    spellings: Vec<PathBuf>,
    external: External,
}

/// A file opened to be read.
pub struct Opened {
    pub file: File,
    pub bytes: u64,
}

/// A directory opened to be walked, with its path as the model knows it.
pub struct Directory {
    pub descriptor: OwnedFd,
    /// Beneath the workspace; empty for the workspace itself.
    pub path: PathBuf,
}

impl Jail {
    pub fn open(workspace: &Path, external: External) -> Result<Self> {
        let real = std::fs::canonicalize(workspace)
            .with_context(|| format!("cannot open the workspace {}", workspace.display()))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, &real, flags, Mode::empty())
            .with_context(|| format!("cannot open the workspace {}", real.display()))?;
        let jail = Self {
            root,
            spellings: vec![workspace.to_owned(), real.clone()],
            workspace: real,
            external,
        };
        jail.resolve(&jail.root, Path::new("."), flags).map_err(|error| match error {
            Errno::NOSYS | Errno::PERM => anyhow::anyhow!(
                "the file tools need openat2 (Linux 5.6 or newer, and not filtered by a container), which is not to be had here"
            ),
            other => anyhow::anyhow!("cannot open the workspace {}: {other}", jail.workspace.display()),
        })?;
        Ok(jail)
    }

    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// A path as the model wrote it, as one that can be resolved.
    fn locate(&self, written: &str) -> Result<PathBuf, Fault> {
        if let Some(refused) = words::unusable(written) {
            return Err(refused);
        }
        let path = Path::new(written);
        if !path.is_absolute() {
            return Ok(path.to_owned());
        }
        let inside = self
            .spellings
            .iter()
            .find_map(|workspace| path.strip_prefix(workspace).ok());
        match (inside, self.external) {
            (Some(rest), _) if rest.as_os_str().is_empty() => Ok(PathBuf::from(".")),
            (Some(rest), _) => Ok(rest.to_owned()),
            (None, External::Allow) => Ok(path.to_owned()),
            (None, External::Deny) => Err(words::outside(written)),
        }
    }

    fn resolve(&self, from: impl AsFd, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let how = match self.external {
            External::Deny => ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
            External::Allow => ResolveFlags::NO_MAGICLINKS,
        };
        open_patiently(from.as_fd(), path, flags, Mode::empty(), how)
    }

    /// Opens a regular file to be read.
    pub fn read(&self, written: &str) -> Result<Opened, Fault> {
        let path = self.locate(written)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let descriptor = self
            .resolve(&self.root, &path, flags)
            .map_err(|error| self.why(written, &path, error))?;
        opened(descriptor, written)
    }

    /// Opens a directory to be walked. Or the answer that it is a file.
    pub fn directory(&self, written: &str) -> Result<Option<Directory>, Fault> {
        let path = self.locate(written)?;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let descriptor = self
            .resolve(&self.root, &path, flags)
            .map_err(|error| self.why(written, &path, error))?;
        let facts = facts(&descriptor, written)?;
        if FileType::from_raw_mode(facts.st_mode) != FileType::Directory {
            return Ok(None);
        }
        let path = self.beneath(&descriptor)?;
        Ok(Some(Directory { descriptor, path }))
    }

    /// Where a descriptor stands: beneath the workspace, or as an absolute path where that is allowed.
    fn beneath(&self, descriptor: &OwnedFd) -> Result<PathBuf, Fault> {
        let real = real_path(descriptor)?;
        let root = real_path(&self.root)?;
        Ok(match real.strip_prefix(&root) {
            Ok(rest) => rest.to_owned(),
            Err(_) => real,
        })
    }

    fn why(&self, written: &str, path: &Path, error: Errno) -> Fault {
        match error {
            Errno::NOENT => words::missing(written, self.nearest(path).as_deref()),
            other => words::not_opened(written, other),
        }
    }

    /// The file beside a missing one whose name is most like it.
    fn nearest(&self, path: &Path) -> Option<String> {
        const MAX_NAMES: usize = 2_000;
        let name = path.file_name()?.to_str()?;
        let above = path.parent().unwrap_or(Path::new(""));
        let shown = if above.as_os_str().is_empty() {
            Path::new(".")
        } else {
            above
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = self.resolve(&self.root, shown, flags).ok()?;
        let names: Vec<String> = rustix::fs::Dir::new(directory)
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.file_name().to_str().ok()?.to_owned()))
            .filter(|name| name != "." && name != "..")
            .take(MAX_NAMES)
            .collect();
        let found = crate::model::nearest::nearest(name, names.iter().map(String::as_str))?;
        Some(above.join(found).display().to_string())
    }
}

impl Directory {
    /// A path of the kernel's that leads to this directory whatever is renamed meanwhile.
    pub fn pinned(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/.", self.descriptor.as_raw_fd()))
    }

    /// Opens a regular file beneath, through no link at all: for walks, which follow none.
    pub fn file(&self, path: &Path) -> Option<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let descriptor = self.strictly(path, flags).ok()?;
        let facts = rustix::fs::fstat(&descriptor).ok()?;
        let regular = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile;
        regular.then(|| File::from(descriptor))
    }

    /// Whether this is beneath indeed.
    pub fn holds(&self, path: &Path) -> bool {
        self.strictly(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)
            .is_ok()
    }

    fn strictly(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        open_patiently(self.descriptor.as_fd(), path, flags, Mode::empty(), how)
    }
}

fn open_patiently(
    from: std::os::fd::BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
    how: ResolveFlags,
) -> rustix::io::Result<OwnedFd> {
    let mut tries = 0;
    loop {
        tries += 1;
        match rustix::fs::openat2(from, path, flags, mode, how) {
            Err(Errno::AGAIN | Errno::INTR) if tries < MAX_TRIES => std::thread::yield_now(),
            done => return done,
        }
    }
}

/// A regular file of a file system, not of the kernel's own books: those know our environment.
fn opened(descriptor: OwnedFd, written: &str) -> Result<Opened, Fault> {
    let facts = facts(&descriptor, written)?;
    let kind = FileType::from_raw_mode(facts.st_mode);
    if kind != FileType::RegularFile {
        return Err(words::not_a_file(written, kind));
    }
    let system =
        rustix::fs::fstatfs(&descriptor).map_err(|error| words::not_opened(written, error))?;
    if system.f_type == PROC_MAGIC {
        return Err(words::of_the_kernel(written));
    }
    Ok(Opened {
        file: File::from(descriptor),
        bytes: u64::try_from(facts.st_size).unwrap_or(0),
    })
}

fn facts(descriptor: &OwnedFd, written: &str) -> Result<Stat, Fault> {
    rustix::fs::fstat(descriptor).map_err(|error| words::not_opened(written, error))
}

fn real_path(descriptor: &OwnedFd) -> Result<PathBuf, Fault> {
    let link = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    let real = rustix::fs::readlinkat(CWD, link, Vec::new()).map_err(|error| {
        Fault::Passing(format!("cannot find the way in the workspace: {error}"))
    })?;
    Ok(PathBuf::from(OsStr::from_bytes(real.as_bytes())))
}
