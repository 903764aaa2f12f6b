//! A control group of the turn's own, where the shim's group was delegated to us: the surest way to end every
//! process at once. It must leave groups alone that were not delegated, and its absence is never an error.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const REMOVE_MAX: Duration = Duration::from_secs(2);
const REMOVE_PAUSE: Duration = Duration::from_millis(2);
const NESTED_MAX: usize = 16;

pub struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Makes the turn's group below our own, if that was delegated.
    pub fn create(mark: &str) -> Option<Self> {
        let own = own_group()?;
        if !delegated(&own) {
            return None;
        }
        let path = own.join(name(mark));
        match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => None,
            _ => Some(Self { path }),
        }
    }

    /// The group of a turn that an earlier shim made, if it is still there.
    pub fn find(mark: &str) -> Option<Self> {
        let path = own_group()?.join(name(mark));
        path.is_dir().then_some(Self { path })
    }

    /// A process enters by writing `0` here.
    pub fn entrance(&self) -> Option<File> {
        File::options()
            .write(true)
            .open(self.path.join("cgroup.procs"))
            .ok()
    }

    pub fn kill(&self) {
        // Where it cannot be written (before Linux 5.14) the walk over the tree does the work.
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Removes the group, ending what may still be in it.
    pub fn remove(&self) {
        let until = Instant::now() + REMOVE_MAX;
        while !remove_nested(&self.path, NESTED_MAX) && Instant::now() < until {
            self.kill();
            std::thread::sleep(REMOVE_PAUSE);
        }
    }
}

/// Whether this process's own group was delegated to it, so that turns can be ended as a whole.
pub fn cgroup_delegated() -> bool {
    own_group().is_some_and(|own| delegated(&own))
}

fn name(mark: &str) -> String {
    format!("ralphd-{mark}")
}

/// An agent may have made groups inside its own: the innermost goes first.
fn remove_nested(path: &Path, depth: usize) -> bool {
    let removed = fs::remove_dir(path);
    if removed.is_ok() || !path.exists() {
        return true;
    }
    if depth == 0 {
        return false;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_nested(&entry.path(), depth - 1);
        }
    }
    fs::remove_dir(path).is_ok()
}

fn own_group() -> Option<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    locate(&own, &mounts)
}

/// systemd marks what it hands over: `trusted.delegate` for itself, `user.delegate` for everyone to see.
fn delegated(group: &Path) -> bool {
    ["user.delegate", "trusted.delegate"].iter().any(|attribute| {
        let mut value = [0_u8; 2];
        matches!(rustix::fs::getxattr(group, *attribute, &mut value[..]), Ok(1) if value[0] == b'1')
    })
}

/// The directory of our version 2 group, from `/proc/self/cgroup` and `/proc/self/mountinfo`.
fn locate(own: &str, mounts: &str) -> Option<PathBuf> {
    let group = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        if kind.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut place = place.split(' ').skip(3);
        let (root, mount) = (place.next()?, place.next()?);
        let inside = Path::new(group).strip_prefix(root).ok()?;
        Some(Path::new(mount).join(inside))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locates_our_group() {
        let hybrid = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        let unified = "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n";
        let inner = "41 31 0:38 /box /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n";
        for (own, mounts, expected) in [
            (
                "3:cpu:/x\n0::/a/b\n",
                hybrid,
                Some("/sys/fs/cgroup/unified/a/b"),
            ),
            ("0::/\n", unified, Some("/sys/fs/cgroup/")),
            (
                "0::/system.slice/r.service\n",
                unified,
                Some("/sys/fs/cgroup/system.slice/r.service"),
            ),
            ("0::/box/in\n", inner, Some("/sys/fs/cgroup/in")),
            ("0::/elsewhere\n", inner, None),
            ("3:cpu:/x\n", hybrid, None),
            ("0::/a\n", "", None),
        ] {
            assert_eq!(locate(own, mounts), expected.map(PathBuf::from), "{own:?}");
        }
    }
}
