//! Starts the agent, contained: own session, own limits, default signals, dead when its shim dies, and no descriptor
//! but its three streams. Or says in words why it could not. It must not watch it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStderr, ChildStdout, Command, Stdio};

use rustix::fs::Access;
use rustix::process::{Pid, Resource, Rlimit, Signal};

use super::{Limits, Program, signals};

pub struct Agent {
    pub pid: Pid,
    /// Both non-blocking.
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// `entrance` is the door of the control group it shall live in.
pub fn start(program: &Program, entrance: Option<File>) -> Result<Agent, String> {
    let (name, arguments) = program
        .argv
        .split_first()
        .ok_or("no program named: argv is empty")?;
    if !program.cwd.is_dir() {
        return Err(format!(
            "working directory missing: {}",
            program.cwd.display()
        ));
    }
    rustix::fs::access(&program.cwd, Access::EXEC_OK).map_err(|error| {
        format!(
            "working directory not accessible: {}: {error}",
            program.cwd.display()
        )
    })?;
    let mut command = Command::new(name);
    command.args(arguments).current_dir(&program.cwd);
    command
        .stdin(input(program.stdin.as_deref())?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    contain(&mut command, limits(&program.limits), entrance);
    let mut child = command
        .spawn()
        .map_err(|error| why_not(name, &program.cwd, &error))?;
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or("the kernel gave no process id")?;
    Ok(Agent {
        pid,
        stdout: unblocked(child.stdout.take().map(ChildStdout::into))?,
        stderr: unblocked(child.stderr.take().map(ChildStderr::into))?,
    })
}

fn input(path: Option<&Path>) -> Result<Stdio, String> {
    match path {
        None => Ok(Stdio::null()),
        Some(path) => {
            let file = File::open(path)
                .map_err(|error| format!("cannot read the prompt {}: {error}", path.display()))?;
            Ok(file.into())
        }
    }
}

fn unblocked(pipe: Option<OwnedFd>) -> Result<OwnedFd, String> {
    let pipe = pipe.ok_or("the program was started without its output pipe")?;
    rustix::io::ioctl_fionbio(&pipe, true)
        .map_err(|error| format!("prepare the output pipe: {error}"))?;
    Ok(pipe)
}

fn contain(command: &mut Command, limits: Vec<(Resource, Rlimit)>, entrance: Option<File>) {
    let shim = rustix::process::getpid();
    let enter = move || -> io::Result<()> {
        rustix::process::setsid()?;
        if let Some(door) = &entrance {
            // Refused entry is no failure: the walk over the tree ends it as well.
            let _ = rustix::io::write(door, b"0");
        }
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(shim) {
            // The shim died before the wish to die with it was known.
            return Err(rustix::io::Errno::SRCH.into());
        }
        signals::restore_defaults();
        for (resource, limit) in &limits {
            rustix::process::setrlimit(*resource, *limit)?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made; nothing allocates or locks, and the vectors it reads
    // were filled before.
    unsafe { command.pre_exec(enter) };
}

/// A core dump may hold secrets and fills disks: never.
fn limits(wanted: &Limits) -> Vec<(Resource, Rlimit)> {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let named = [
        (Resource::Nofile, wanted.open_files, 0),
        (Resource::Nproc, wanted.processes, 0),
        (Resource::Fsize, wanted.file_size_bytes, 0),
        (Resource::Data, wanted.memory_bytes, 0),
        // One second between the signal that tells the reason and the one that cannot be ignored.
        (Resource::Cpu, wanted.cpu_seconds, 1),
    ];
    let named = named.into_iter().filter_map(|(resource, value, slack)| {
        let ceiling = rustix::process::getrlimit(resource).maximum;
        Some((resource, bounded(value?, slack, ceiling)))
    });
    std::iter::once((Resource::Core, none))
        .chain(named)
        .collect()
}

fn bounded(value: u64, slack: u64, ceiling: Option<u64>) -> Rlimit {
    let ceiling = ceiling.unwrap_or(u64::MAX - 1);
    Rlimit {
        current: Some(value.min(ceiling)),
        maximum: Some(value.saturating_add(slack).min(ceiling)),
    }
}

/// The reason a program did not start, in the user's words.
pub fn why_not(name: &str, cwd: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound if name.contains('/') && cwd.join(name).exists() => {
            format!("the interpreter of {name} was not found")
        }
        io::ErrorKind::PermissionDenied if name.contains('/') || on_path(name) => {
            format!("program not executable: {name}")
        }
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            format!("program not found: {name}")
        }
        io::ErrorKind::ArgumentListTooLong => {
            format!("arguments too long for {name}; give the prompt by stdin or file")
        }
        _ => format!("cannot start {name}: {error}"),
    }
}

/// A directory on the path that may not be entered makes the kernel say "denied" for a program that is nowhere.
fn on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_stay_below_the_ceiling() {
        for (value, slack, ceiling, current, maximum) in [
            (10, 0, Some(100), 10, 10),
            (10, 1, Some(100), 10, 11),
            (100, 1, Some(100), 100, 100),
            (500, 0, Some(100), 100, 100),
            (500, 0, None, 500, 500),
        ] {
            let limit = bounded(value, slack, ceiling);
            assert_eq!(
                (limit.current, limit.maximum),
                (Some(current), Some(maximum)),
                "{value}"
            );
        }
    }

    #[test]
    fn core_dumps_are_always_off() {
        let all = limits(&Limits::default());
        assert_eq!(
            all,
            [(
                Resource::Core,
                Rlimit {
                    current: Some(0),
                    maximum: Some(0)
                }
            )]
        );
    }

    #[test]
    fn reasons_are_in_plain_words() {
        for (name, error, expected) in [
            ("nope", io::ErrorKind::NotFound, "program not found: nope"),
            (
                "/bin/sh",
                io::ErrorKind::NotFound,
                "the interpreter of /bin/sh was not found",
            ),
            (
                "./x",
                io::ErrorKind::PermissionDenied,
                "program not executable: ./x",
            ),
            (
                "no-such-program-here",
                io::ErrorKind::PermissionDenied,
                "program not found: no-such-program-here",
            ),
        ] {
            assert_eq!(why_not(name, Path::new("/"), &error.into()), expected);
        }
    }
}
