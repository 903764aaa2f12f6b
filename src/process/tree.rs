//! Processes as `/proc` shows them: who descends from whom, who carries a turn's mark, and a signal that cannot
//! reach a stranger who got the same number. It must not wait for anybody.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Read;

use rustix::process::{Pid, PidfdFlags, Signal};

use super::TURN_VARIABLE;

/// The kernel's own limit for arguments and environment together is 6 MiB.
const ENVIRONMENT_MAX_BYTES: u64 = 6 * 1024 * 1024;

const FREEZE_PASSES_MAX: usize = 64;

/// A process as it was in one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    started_ticks: u64,
    alive: bool,
}

/// A process for good: its number and when it started. Its parent and group may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity(i32, u64);

impl Member {
    pub fn identity(&self) -> Identity {
        Identity(self.pid, self.started_ticks)
    }
}

/// Every living process below `root`, `root` itself not included. One pass: what forks meanwhile may be missing.
pub fn descendants(root: i32) -> Vec<Member> {
    below(&scan(), HashSet::from([root]))
}

/// Stops everybody below `root`, pass by pass until nobody new turns up, and returns them. Killing while others fork
/// makes room for the next ones under the user's process limit; a stopped process keeps its place and forks no more.
pub fn freeze(root: i32) -> Vec<Member> {
    let mut frozen = HashSet::new();
    let mut found = descendants(root);
    for _ in 0..FREEZE_PASSES_MAX {
        let fresh: Vec<&Member> = found
            .iter()
            .filter(|member| frozen.insert(member.identity()))
            .collect();
        if fresh.is_empty() {
            break;
        }
        for member in fresh {
            signal(member, Signal::STOP);
        }
        found = descendants(root);
    }
    found
}

/// Every living process that carries the mark in its environment, and every one below such a process.
pub fn marked(mark: &str) -> Vec<Member> {
    let wanted = format!("{TURN_VARIABLE}={mark}");
    let own = std::process::id().cast_signed();
    let all = scan();
    let mut found: Vec<Member> = all
        .iter()
        .filter(|member| {
            member.alive && member.pid != own && carries(member.pid, wanted.as_bytes())
        })
        .copied()
        .collect();
    let roots: HashSet<i32> = found.iter().map(|member| member.pid).collect();
    found.extend(
        below(&all, roots)
            .into_iter()
            .filter(|member| member.pid != own),
    );
    found
}

/// Signals the process unless it is gone; a number that was given to another process meanwhile is left alone.
pub fn signal(member: &Member, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(member.pid) else {
        return false;
    };
    let Ok(handle) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
        return false;
    };
    let same = read_member(member.pid).is_some_and(|now| now.identity() == member.identity());
    same && rustix::process::pidfd_send_signal(&handle, signal).is_ok()
}

fn below(all: &[Member], roots: HashSet<i32>) -> Vec<Member> {
    let mut children: HashMap<i32, Vec<&Member>> = HashMap::new();
    for member in all {
        children.entry(member.parent).or_default().push(member);
    }
    let mut seen = roots.clone();
    let mut open: Vec<i32> = roots.into_iter().collect();
    let mut found = Vec::new();
    while let Some(parent) = open.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            if seen.insert(child.pid) {
                open.push(child.pid);
                found.push(**child);
            }
        }
    }
    found.retain(|member| member.alive);
    found
}

fn scan() -> Vec<Member> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(read_member)
        .collect()
}

fn read_member(pid: i32) -> Option<Member> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The program's name, in parentheses, may itself hold spaces and parentheses: fields count from the last one.
fn parse(pid: i32, stat: &str) -> Option<Member> {
    let fields: Vec<&str> = stat
        .get(stat.rfind(')')? + 1..)?
        .split_ascii_whitespace()
        .collect();
    let threads: u32 = fields.get(17)?.parse().ok()?;
    // A first thread that ended shows as a zombie while the others run on.
    let alive = !matches!(*fields.first()?, "Z" | "X" | "x") || threads > 1;
    Some(Member {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        started_ticks: fields.get(19)?.parse().ok()?,
        alive,
    })
}

fn carries(pid: i32, wanted: &[u8]) -> bool {
    environment(pid)
        .split(|byte| *byte == 0)
        .any(|variable| variable == wanted)
}

/// The value of a variable in the environment that a process was started with.
pub fn variable(pid: i32, name: &str) -> Option<String> {
    let environment = environment(pid);
    let mut values = environment
        .split(|byte| *byte == 0)
        .filter_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    String::from_utf8(values.next()?.to_vec()).ok()
}

/// Empty where the process is gone or somebody else's.
fn environment(pid: i32) -> Vec<u8> {
    let mut environment = Vec::new();
    let read = File::open(format!("/proc/{pid}/environ")).and_then(|file| {
        file.take(ENVIRONMENT_MAX_BYTES)
            .read_to_end(&mut environment)
    });
    read.map_or_else(|_| Vec::new(), |_| environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(head: &str, threads: u32) -> String {
        format!("{head} 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 {threads} 0 5555 9 9 9")
    }

    #[test]
    fn reads_the_kernels_line() {
        let member = |parent, alive| {
            Some(Member {
                pid: 9,
                parent,
                group: 7,
                started_ticks: 5555,
                alive,
            })
        };
        for (line, expected) in [
            (stat("9 (sh) S 3 7", 1), member(3, true)),
            (stat("9 (a ) b) R 4 7", 1), member(4, true)),
            (stat("9 (sh) Z 3 7", 1), member(3, false)),
            (stat("9 (sh) Z 3 7", 4), member(3, true)),
            ("9 (sh) S 3".into(), None),
            (String::new(), None),
        ] {
            assert_eq!(parse(9, &line), expected, "{line}");
        }
    }

    #[test]
    fn finds_all_below_and_nothing_beside() {
        let member = |pid, parent| Member {
            pid,
            parent,
            group: 0,
            started_ticks: 0,
            alive: true,
        };
        let dead = Member {
            alive: false,
            ..member(6, 3)
        };
        let all = [
            member(1, 0),
            member(2, 1),
            member(3, 2),
            member(4, 3),
            member(5, 1),
            dead,
            member(7, 7),
        ];
        for (root, expected) in [
            (2, vec![3, 4]),
            (1, vec![2, 3, 4, 5]),
            (4, vec![]),
            (7, vec![]),
        ] {
            let mut found: Vec<i32> = below(&all, HashSet::from([root]))
                .iter()
                .map(|member| member.pid)
                .collect();
            found.sort_unstable();
            assert_eq!(found, expected, "below {root}");
        }
    }
}
