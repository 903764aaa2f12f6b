//! The shim's signals: taken from a descriptor instead of by interruption, and given back to the agent in their
//! default state. It must not decide what a signal means.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

/// Blocked in the shim. Those that the descriptor does not report simply have no effect; SIGXFSZ among them turns an
/// inherited file size limit into a failed write.
const BLOCKED: &[libc::c_int] = &[
    libc::SIGTERM,
    libc::SIGCHLD,
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGPIPE,
    libc::SIGXFSZ,
];
const REPORTED: &[libc::c_int] = &[libc::SIGTERM, libc::SIGCHLD];

/// The last signal number of Linux on every architecture ralphd is built for.
const LAST_SIGNAL: libc::c_int = 64;
const KERNEL_MASK_BYTES: usize = 8;
/// The kernel's `struct sigaction` (action, flags, restorer, mask) on the 64-bit architectures, or less.
const ACTION_WORDS: usize = 4;
const RECORD_BYTES: usize = size_of::<libc::signalfd_siginfo>();
const RECORDS_AT_ONCE: usize = 8;

/// Closes what the daemon may have left open across exec: the shim outlives it and must not hold its sockets.
pub fn close_inherited() {
    // SAFETY: called as the shim's first act, before it owns any descriptor above the standard three. An old kernel
    // without the call answers ENOSYS, and the descriptors ralphd itself opens are close-on-exec anyway.
    unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
}

/// Blocks the shim's signals and returns the descriptor that reports SIGTERM and SIGCHLD.
pub fn take_over() -> io::Result<OwnedFd> {
    let (blocked, reported) = (set_of(BLOCKED), set_of(REPORTED));
    // SAFETY: plain calls with initialised sets; SIG_DFL installs no code. An inherited "ignore" on SIGCHLD would
    // make the kernel discard exit statuses. The descriptor is fresh and owned by nobody else.
    unsafe {
        if libc::sigprocmask(libc::SIG_BLOCK, &blocked, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::signal(libc::SIGTERM, libc::SIG_DFL);
        match libc::signalfd(-1, &reported, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            raw => Ok(OwnedFd::from_raw_fd(raw)),
        }
    }
}

/// Empties the descriptor; true when SIGTERM was among what it held. SIGCHLD only serves to wake the poll.
pub fn stop_asked(signals: BorrowedFd<'_>) -> bool {
    let mut asked = false;
    let mut records = [0_u8; RECORD_BYTES * RECORDS_AT_ONCE];
    loop {
        match rustix::io::read(signals, &mut records) {
            Ok(0) => return asked,
            Ok(read) => {
                asked |= records[..read]
                    .chunks_exact(RECORD_BYTES)
                    .any(|record| number(record) == libc::SIGTERM)
            }
            Err(Errno::INTR) => {}
            Err(_) => return asked,
        }
    }
}

fn number(record: &[u8]) -> libc::c_int {
    i32::from_ne_bytes([record[0], record[1], record[2], record[3]])
}

/// Default dispositions and an empty mask, for the agent between fork and exec: only calls that are safe there.
pub fn restore_defaults() {
    let none = set_of(&[]);
    let default_action = [0_u64; ACTION_WORDS];
    // SAFETY: both are async-signal-safe, and a zeroed action is the default one, which installs no code. The raw
    // call, because the C library refuses the two signals it keeps for itself, and those too may come ignored.
    // SIGKILL and SIGSTOP are refused by the kernel without effect.
    unsafe {
        for signal in 1..=LAST_SIGNAL {
            let before = std::ptr::null_mut::<u64>();
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default_action.as_ptr(),
                before,
                KERNEL_MASK_BYTES,
            );
        }
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

fn set_of(signals: &[libc::c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set, `sigaddset` only changes it, and the numbers are valid constants.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}
