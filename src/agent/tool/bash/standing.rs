//! Where a path of a command leads, on this disk, in this moment. It is asked for a better word only: the fence holds.

use super::look::Standing;
use crate::agent::tool::room::Den;
use std::ffi::OsStr;
use std::path::{Component, Path};

const FREE: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
];
/// What a process may know of itself and the machine; not its environment, memory and open files.
const OF_PROCESSES: &[&str] = &[
    "cpuinfo",
    "meminfo",
    "loadavg",
    "uptime",
    "version",
    "stat",
    "status",
    "limits",
    "cgroup",
    "filesystems",
];
/// Readable behind the fence, but not what a command should be about.
const NOT_TOLD: &[&str] = &["/etc", "/proc", "/sys"];

pub fn of(den: &Den, path: &Path) -> Standing {
    if FREE.iter().any(|free| path == Path::new(free)) || path.starts_with("/dev/fd") {
        return Standing::Free;
    }
    let Ok(real) = std::fs::canonicalize(path) else {
        return Standing::Missing;
    };
    if real.starts_with(den.workspace()) {
        return Standing::Inside;
    }
    let beneath = |places: &[std::path::PathBuf]| {
        places
            .iter()
            .filter_map(|place| std::fs::canonicalize(place).ok())
            .any(|place| real.starts_with(place))
    };
    if beneath(&den.ground.writable) {
        return Standing::Free;
    }
    let is_told = !NOT_TOLD.iter().any(|place| real.starts_with(place));
    if harmless(&real) || (is_told && beneath(&den.ground.readable)) {
        return Standing::Readable;
    }
    Standing::Outside(real)
}

fn harmless(real: &Path) -> bool {
    let parts: Vec<&OsStr> = real
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    match parts.as_slice() {
        [first, .., last] if *first == "proc" && parts.len() <= 3 => {
            OF_PROCESSES.iter().any(|known| last == known)
        }
        _ => real.starts_with("/sys/devices/system"),
    }
}
