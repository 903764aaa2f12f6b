//! A process as a descriptor: waited for and signalled without mistaking it for another of the same number,
//! whether it is our child or a stranger. It must not reap: that is the parent's.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

pub struct Handle {
    pub pid: i32,
    descriptor: AsyncFd<OwnedFd>,
}

impl Handle {
    /// None when there is no such process.
    pub fn open(pid: i32) -> io::Result<Option<Self>> {
        let Some(raw) = Pid::from_raw(pid) else {
            return Ok(None);
        };
        match rustix::process::pidfd_open(raw, PidfdFlags::NONBLOCK) {
            Ok(descriptor) => {
                // SAFETY: an owned descriptor, handed over whole: it stays open and the same until it is dropped.
                let descriptor =
                    unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE)? };
                Ok(Some(Self { pid, descriptor }))
            }
            Err(Errno::SRCH) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Resolves when the process has ended, reaped or not; every time it is asked.
    pub async fn ended(&self) -> io::Result<()> {
        self.descriptor.readable().await.map(drop)
    }

    /// A process that is gone needs no signal.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match rustix::process::pidfd_send_signal(&self.descriptor, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
