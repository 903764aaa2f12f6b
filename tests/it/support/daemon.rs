//! The real daemon on a site: started, killed, restarted; and nothing of it left when the test is over.

use super::processes::kill;
use super::{Site, contract, truth, wait_for};
use rustix::process::{Pid, Signal};
use std::fs::File;
use std::ops::Deref;
use std::process::{Child, ExitStatus};

const LOG: &str = "daemon.log";

/// A running (or killed) daemon and its site.
pub struct Daemon {
    site: Site,
    process: Child,
}

impl Deref for Daemon {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

impl Daemon {
    /// Starts the daemon and waits until it takes requests.
    pub fn start(site: Site) -> Self {
        let process = spawn(&site);
        let mut daemon = Self { site, process };
        daemon.wait_until_ready();
        daemon
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.process.id()).unwrap()
    }

    /// Everything the daemons of this site have logged.
    pub fn log(&self) -> String {
        self.site.read(LOG)
    }

    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// kill -9, and wait for the death.
    pub fn kill9(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Asks politely, and waits for the end.
    pub fn terminate(&mut self) -> ExitStatus {
        let pid = Pid::from_raw(self.pid()).unwrap();
        rustix::process::kill_process(pid, Signal::TERM).unwrap();
        self.wait_for_exit()
    }

    /// Waits until the daemon ends by itself or by somebody else's hand.
    pub fn wait_for_exit(&mut self) -> ExitStatus {
        wait_for("the daemon to exit", || self.process.try_wait().unwrap())
    }

    /// A new daemon on the same state, as soon as it takes requests.
    pub fn restart(&mut self) {
        self.spawn_again();
        self.wait_until_ready();
    }

    /// A new daemon on the same state, at whatever point of its start.
    pub fn spawn_again(&mut self) {
        self.process = spawn(&self.site);
    }

    pub fn wait_until_ready(&mut self) {
        let line = format!("ready pid={} ", self.process.id());
        wait_for("the daemon to be ready", || {
            let log = self.site.read(LOG);
            let exit = self.process.try_wait().unwrap();
            assert!(exit.is_none(), "the daemon ended: {exit:?}\n{log}");
            log.contains(&line).then_some(())
        });
    }
}

fn spawn(site: &Site) -> Child {
    let log = File::options()
        .create(true)
        .append(true)
        .open(site.file(LOG))
        .unwrap();
    site.command(&["serve"]).stderr(log).spawn().unwrap()
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the daemon's log\n{}", self.log());
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        // A shim that dies takes its agent along, but not what the agent started.
        for _ in 0..100 {
            let left = self.site.turn_processes();
            if left.is_empty() {
                break;
            }
            left.into_iter().for_each(kill);
        }
        if !std::thread::panicking() {
            let broken = contract::broken(&self.site);
            assert!(broken.is_empty(), "events beside the contract: {broken:#?}");
            let lies = truth::lies(&self.site);
            assert!(lies.is_empty(), "rows that cannot be true: {lies:#?}");
        }
    }
}
