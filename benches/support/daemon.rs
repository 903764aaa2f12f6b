//! The real binary as a daemon: started with a socket in systemd's place, watched by /proc, stopped by SIGTERM.

use super::wait_for;
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const BINARY: &str = env!("CARGO_BIN_EXE_ralphd");
const READY_WITHIN: Duration = Duration::from_secs(60);

/// A running `ralphd serve`.
pub struct Daemon {
    child: Child,
    pub state: PathBuf,
    /// From fork to `READY=1`.
    pub ready_after: Duration,
}

/// A configuration with one agent, which runs `command`.
pub fn configuration(command: &[&str]) -> String {
    let words: Vec<String> = command.iter().map(|word| format!("{word:?}")).collect();
    format!(
        "[log]\nlevel = \"error\"\n[agents.bench]\ncommand = [{}]\n",
        words.join(", ")
    )
}

impl Daemon {
    /// Starts a daemon on `state` and waits until it is ready.
    pub fn start(state: &Path, configuration: &str) -> Self {
        let socket = state.with_extension("notify");
        let _ = std::fs::remove_file(&socket);
        let ear = UnixDatagram::bind(&socket).expect("bind the notify socket");
        ear.set_read_timeout(Some(READY_WITHIN))
            .expect("limit the wait");
        let started = Instant::now();
        let child = command(state, configuration)
            .arg("serve")
            .env("NOTIFY_SOCKET", &socket)
            .spawn()
            .expect("start ralphd");
        let mut heard = [0u8; 4096];
        loop {
            let length = ear.recv(&mut heard).expect("hear from ralphd");
            let words = String::from_utf8_lossy(&heard[..length]);
            if words.lines().any(|line| line == "READY=1") {
                break;
            }
        }
        Self {
            child,
            state: state.to_owned(),
            ready_after: started.elapsed(),
        }
    }

    /// Moves a request into the inbox in one step.
    pub fn drop_request(&self, name: &str, text: &str) {
        let draft = self.state.join(name);
        std::fs::write(&draft, text).expect("write a request");
        std::fs::rename(&draft, self.state.join("inbox").join(name)).expect("drop the request");
    }

    /// Waits until the outbox holds so many answers, in the form that is written last.
    pub fn wait_for_answers(&self, count: usize) {
        wait_for("the answers", || {
            let listing = std::fs::read_dir(self.state.join("outbox")).ok()?;
            let answers = listing
                .flatten()
                .filter(|entry| entry.path().extension().is_some_and(|end| end == "md"));
            (answers.count() >= count).then_some(())
        });
    }

    /// A field of /proc/PID/status in KiB.
    pub fn memory_kib(&self, field: &str) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .expect("read its status");
        number_after(&text, field)
    }

    /// From now on `VmHWM` is the peak since now.
    pub fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5")
            .expect("reset the peak");
    }

    /// What each of its threads has done so far.
    pub fn activity(&self) -> Activity {
        let threads =
            std::fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("list its threads");
        let of_thread = |thread: std::fs::DirEntry| {
            let read = |name| std::fs::read_to_string(thread.path().join(name)).unwrap_or_default();
            let sleeps = number_after(&read("status"), "voluntary_ctxt_switches:");
            let nanoseconds = read("schedstat");
            let first = nanoseconds.split(' ').next().and_then(|n| n.parse().ok());
            let running = Duration::from_nanos(first.unwrap_or(0));
            (thread.file_name(), (sleeps, running))
        };
        Activity(threads.flatten().map(of_thread).collect())
    }
}

/// How often each thread went to sleep, and how long it was on a processor.
pub struct Activity(HashMap<OsString, (f64, Duration)>);

impl Activity {
    /// What those that still live have done since an earlier look.
    pub fn since(&self, earlier: &Activity) -> (f64, Duration) {
        let mut sum = (0.0, Duration::ZERO);
        for (thread, (sleeps, running)) in &self.0 {
            let before = earlier.0.get(thread).copied().unwrap_or_default();
            sum.0 += sleeps - before.0;
            sum.1 += running.saturating_sub(before.1);
        }
        sum
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

/// The binary on a state directory, with a configuration and an environment of its own.
pub fn command(state: &Path, configuration: &str) -> Command {
    let file = state.with_extension("toml");
    std::fs::write(&file, configuration).expect("write the configuration");
    let mut command = Command::new(BINARY);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", state)
        .env("RALPHD_HTTP__LISTEN", "127.0.0.1:0")
        .arg("--state")
        .arg(state)
        .arg("--config")
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

fn number_after(text: &str, field: &str) -> f64 {
    text.lines()
        .find_map(|line| line.strip_prefix(field))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0.0)
}
