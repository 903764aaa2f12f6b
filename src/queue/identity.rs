//! Who is who: the identity of this process as a worker, and whether another one on this host still lives.

use crate::clock::{new_id, now_ms};
use crate::store::workers::{Role, Worker};

/// This process as a worker, under a fresh id.
pub fn of_this_process(role: Role) -> Worker {
    let pid = std::process::id();
    Worker {
        id: new_id(),
        role,
        pid: i64::from(pid),
        pid_started: started(i64::from(pid)).unwrap_or(0),
        boot_id: boot_id(),
        host: host(),
        started_at_ms: now_ms(),
        stopped_at_ms: None,
    }
}

/// Whether a worker still lives; nothing when it is on another host and only its lease can tell.
pub fn is_alive(worker: &Worker) -> Option<bool> {
    if worker.host != host() {
        return None;
    }
    if worker.stopped_at_ms.is_some() || worker.boot_id != boot_id() {
        return Some(false);
    }
    Some(started(worker.pid) == Some(worker.pid_started))
}

/// When a process started, in ticks since boot; nothing when there is no such process, or only its corpse.
fn started(pid: i64) -> Option<i64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, spaces and parentheses too.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_a_stranger_with_its_pid_does_not() {
        let worker = of_this_process(Role::Serve);
        assert_eq!(is_alive(&worker), Some(true));
        let earlier = Worker {
            pid_started: worker.pid_started - 1,
            ..worker.clone()
        };
        assert_eq!(is_alive(&earlier), Some(false));
        let before_reboot = Worker {
            boot_id: "other".to_owned(),
            ..worker.clone()
        };
        assert_eq!(is_alive(&before_reboot), Some(false));
        let elsewhere = Worker {
            host: "other".to_owned(),
            ..worker
        };
        assert_eq!(is_alive(&elsewhere), None);
    }
}
