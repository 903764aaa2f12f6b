//! Which processes belong to a site, by the marks that every process of a turn carries in its environment.

use super::Site;
use std::fs;

impl Site {
    /// Every living process of any turn of this site: shims, agents, and whatever those started.
    pub fn turn_processes(&self) -> Vec<i32> {
        let workspace = format!("RALPHD_WORKSPACE={}/", self.root().display());
        let pids = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(|pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let variables = || environment.split(|byte| *byte == 0);
            variables().any(|variable| variable.starts_with(b"RALPHD_TURN="))
                && variables().any(|variable| variable.starts_with(workspace.as_bytes()))
        })
        .collect()
    }

    /// No process of any turn is left.
    pub fn assert_nothing_runs(&self) {
        assert_eq!(self.turn_processes(), Vec::<i32>::new());
    }

    /// The shims among them.
    pub fn shims(&self) -> Vec<i32> {
        let is_shim = |pid: &i32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.starts_with(b"ralphd\0shim\0")
        };
        self.turn_processes().into_iter().filter(is_shim).collect()
    }
}

/// Whether a process runs; a corpse that nobody has buried yet does not.
pub fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Sends SIGKILL; a process that is gone already is as good.
pub fn kill(pid: i32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
