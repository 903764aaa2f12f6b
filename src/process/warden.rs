//! The process between us and a captured program: it starts it, and ends whatever the program leaves behind, however
//! that hid itself: orphans come to the warden, because it is their nearest subreaper. It holds the far end of a leash:
//! when that is let go, on purpose or by our death, it ends everything.
//! A fork without exec: after [`post`] it must make system calls only, and never allocate, lock or return.

use std::ffi::{CString, NulError};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::process::Command;

use super::{Fence, signals};

/// How often the dead are buried while the program runs.
const BURIAL: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};
const ROUND: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};
const MAX_ROUNDS: u32 = 8_000;
const STRAGGLER_ROUNDS: u32 = 100;
const NOT_STARTED: i32 = 1;
const ENDED: i32 = 2;
const RECORD_BYTES: usize = 12;
/// What a shell says of a program that could not be run.
const CANNOT_RUN: i32 = 127;

unsafe extern "C" {
    static mut environ: *const *const libc::c_char;
}

/// What the warden is to run, made before the fork.
pub struct Orders {
    _words: Vec<CString>,
    argv: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
    leash: OwnedFd,
    report: OwnedFd,
    fence: Option<Arc<Fence>>,
}

// SAFETY: the pointers lead into the strings that are kept beside them, which nobody changes.
unsafe impl Send for Orders {}
// SAFETY: the same.
unsafe impl Sync for Orders {}

impl Orders {
    pub fn new(
        argv: &[String],
        environment: &[(String, String)],
        leash: OwnedFd,
        report: OwnedFd,
        fence: Option<Arc<Fence>>,
    ) -> Result<Self, NulError> {
        let mut words = Vec::new();
        for word in argv {
            words.push(CString::new(word.as_str())?);
        }
        for (name, value) in environment {
            words.push(CString::new(format!("{name}={value}"))?);
        }
        let pointers = |words: &[CString]| {
            let mut pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
            pointers.push(std::ptr::null());
            pointers
        };
        Ok(Self {
            argv: pointers(&words[..argv.len()]),
            environment: pointers(&words[argv.len()..]),
            _words: words,
            leash,
            report,
            fence,
        })
    }

    fn tell(&self, record: [i32; 3]) {
        let mut bytes = [0; RECORD_BYTES];
        for (place, number) in bytes.chunks_exact_mut(4).zip(record) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        let _ = rustix::io::write(&self.report, &bytes);
    }
}

/// What the warden told.
pub enum Report {
    NotStarted(io::Error),
    Ended { status: i32, leftovers: u32 },
    Silent,
}

impl Report {
    pub fn parse(bytes: &[u8]) -> Self {
        let mut report = Report::Silent;
        for record in bytes.chunks_exact(RECORD_BYTES) {
            let number = |at: usize| {
                i32::from_ne_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
            };
            match (number(0), &report) {
                (NOT_STARTED, _) => {
                    report = Report::NotStarted(io::Error::from_raw_os_error(number(4)));
                }
                (ENDED, Report::Silent) => {
                    report = Report::Ended {
                        status: number(4),
                        leftovers: number(8).cast_unsigned(),
                    };
                }
                _ => {}
            }
        }
        report
    }
}

/// Makes `command`, once spawned, the warden of these orders.
pub fn post(command: &mut Command, orders: Orders) {
    let serve = move || -> io::Result<()> { serve(&orders) };
    // SAFETY: `serve` only makes system calls, on memory that was filled before the fork.
    unsafe { command.pre_exec(serve) };
}

fn serve(orders: &Orders) -> io::Result<()> {
    rustix::process::setsid()?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    signals::restore_defaults();
    // SAFETY: both sides of it make system calls only, and end by exec or exit.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => run(orders),
        child => guard(orders, child),
    }
}

fn leave(code: i32) -> ! {
    // SAFETY: ends this process at once, without running anything of ours.
    unsafe { libc::_exit(code) }
}

/// The program's side.
fn run(orders: &Orders) -> ! {
    let ready = || -> io::Result<()> {
        rustix::process::setsid()?;
        hand_on_nothing();
        match &orders.fence {
            Some(fence) => fence.enter(),
            None => Ok(()),
        }
    };
    let error = match ready() {
        Err(error) => error,
        Ok(()) => {
            // SAFETY: both lists end with a null pointer, and this process has one thread.
            unsafe {
                environ = orders.environment.as_ptr();
                libc::execvp(orders.argv[0], orders.argv.as_ptr());
            }
            io::Error::last_os_error()
        }
    };
    orders.tell([NOT_STARTED, error.raw_os_error().unwrap_or(0), 0]);
    leave(CANNOT_RUN)
}

/// What we were given open, and stands open here by no wish of ours, would lead around the fence.
fn hand_on_nothing() {
    const FIRST: u32 = 3;
    // SAFETY: marks descriptors for the exec; an old kernel that cannot answers with -1.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
}

fn guard(orders: &Orders, child: i32) -> ! {
    close_all_but(orders.leash.as_raw_fd(), orders.report.as_raw_fd());
    let mut ward = Ward {
        child,
        status: None,
        killed: 0,
    };
    ward.wait(&orders.leash);
    let ended = ward.status.is_some();
    if ended {
        ward.wait_for_stragglers();
    }
    ward.end_all();
    let leftovers = if ended { ward.killed } else { 0 };
    let status = ward.status.unwrap_or(libc::SIGKILL);
    orders.tell([ENDED, status, leftovers.cast_signed()]);
    leave(0)
}

/// A warden lives longer than an exec would take: it must hold nobody else's pipes open.
fn close_all_but(one: i32, other: i32) {
    let (low, high) = (one.min(other), one.max(other));
    for (from, to) in [(0, low - 1), (low + 1, high - 1), (high + 1, i32::MAX)] {
        if from > to {
            continue;
        }
        // SAFETY: nothing of this process uses these descriptors any more.
        let done = unsafe {
            libc::syscall(
                libc::SYS_close_range,
                from.cast_unsigned(),
                to.cast_unsigned(),
                0_u32,
            )
        };
        if done != 0 {
            const MOST_DESCRIPTORS: i32 = 4096;
            for descriptor in from..=to.min(MOST_DESCRIPTORS) {
                // SAFETY: the same.
                unsafe { libc::close(descriptor) };
            }
        }
    }
}

struct Ward {
    child: i32,
    status: Option<i32>,
    killed: u32,
}

impl Ward {
    /// Until the program has ended, or nobody holds the leash any more.
    fn wait(&mut self, leash: &OwnedFd) {
        let Some(pid) = Pid::from_raw(self.child) else {
            return;
        };
        let Ok(handle) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
            return;
        };
        loop {
            let mut watched = [
                PollFd::new(&handle, PollFlags::IN),
                PollFd::from_borrowed_fd(leash.as_fd(), PollFlags::empty()),
            ];
            match rustix::event::poll(&mut watched, Some(&BURIAL)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            let let_go = !watched[1].revents().is_empty();
            self.bury();
            if let_go || self.status.is_some() {
                return;
            }
        }
    }

    /// Takes leave of all that have ended; true while somebody lives.
    fn bury(&mut self) -> bool {
        loop {
            let mut status = 0;
            // SAFETY: a plain call with a place for its answer.
            match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
                0 => return true,
                -1 => return false,
                pid if pid == self.child => self.status = Some(status),
                _ if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL => {
                    self.killed += 1;
                }
                _ => {}
            }
        }
    }

    /// The far end of a pipe may need a moment longer than the program itself; it is no leftover.
    fn wait_for_stragglers(&mut self) {
        for _ in 0..STRAGGLER_ROUNDS {
            if !self.bury() {
                return;
            }
            let _ = rustix::thread::nanosleep(&ROUND);
        }
    }

    /// Kills round by round: the children of who dies become the warden's own.
    fn end_all(&mut self) {
        self.killed = 0;
        if let Some(group) = Pid::from_raw(self.child) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        for _ in 0..MAX_ROUNDS {
            if !self.bury() {
                return;
            }
            kill_children();
            let _ = rustix::thread::nanosleep(&ROUND);
        }
    }
}

/// Those of a second buffer are found in the next round.
fn kill_children() {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(list) = rustix::fs::open(c"/proc/thread-self/children", flags, Mode::empty()) else {
        return;
    };
    let mut buffer = [0_u8; 4096];
    let read = rustix::io::read(&list, &mut buffer[..]).unwrap_or(0);
    let mut number = 0_i32;
    for byte in &buffer[..read] {
        if byte.is_ascii_digit() {
            number = number
                .saturating_mul(10)
                .saturating_add(i32::from(byte - b'0'));
            continue;
        }
        if let Some(pid) = Pid::from_raw(number) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        number = 0;
    }
}
