//! The unit files as systemd reads them, and the daemon as systemd hears it.

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const MAX_EXPOSURE: f64 = 2.5;
const PATIENCE: Duration = Duration::from_secs(30);

fn unit(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("systemd")
        .join(name)
}

/// Runs `systemd-analyze`; nothing where it is not installed.
fn analyze(home: &Path, arguments: &[&str]) -> Option<Output> {
    let ran = Command::new("systemd-analyze")
        .args(arguments)
        .env("SYSTEMD_COLORS", "0")
        .env("HOME", home)
        .env("XDG_RUNTIME_DIR", home)
        .output();
    match ran {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: systemd-analyze cannot be run: {error}");
            None
        }
    }
}

/// Verification wants the program to be there: the unit is checked with one that is.
fn with_a_program_that_exists(name: &str, place: &Path) -> PathBuf {
    let text = std::fs::read_to_string(unit(name)).unwrap();
    let lines = text
        .lines()
        .map(|line| match line.strip_prefix("ExecStart=") {
            Some(command) => {
                let (_, arguments) = command.split_once(' ').unwrap();
                format!("ExecStart={} {arguments}\n", env!("CARGO_BIN_EXE_ralphd"))
            }
            None => format!("{line}\n"),
        });
    let copy = place.join(name);
    std::fs::write(&copy, lines.collect::<String>()).unwrap();
    copy
}

#[test]
fn the_units_have_no_mistake() {
    for (name, scope) in [
        ("ralphd.service", "--system"),
        ("ralphd-user.service", "--user"),
    ] {
        let place = tempfile::tempdir().unwrap();
        let copy = with_a_program_that_exists(name, place.path());
        let Some(output) = analyze(
            place.path(),
            &[scope, "--man=no", "verify", copy.to_str().unwrap()],
        ) else {
            return;
        };
        // Unknown keys are reported, but the exit code is 0 all the same.
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && complaints.is_empty(),
            "{name}: {complaints}"
        );
    }
}

#[test]
fn the_system_unit_is_hardened() {
    let place = tempfile::tempdir().unwrap();
    let path = unit("ralphd.service");
    let arguments = [
        "security",
        "--offline=true",
        "--no-pager",
        path.to_str().unwrap(),
    ];
    let Some(output) = analyze(place.path(), &arguments) else {
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let exposure = text
        .lines()
        .find_map(|line| line.split_once("Overall exposure level for ralphd.service: "))
        .and_then(|(_, rest)| rest.split(' ').next())
        .and_then(|number| number.parse::<f64>().ok());
    assert!(
        exposure.is_some_and(|exposure| exposure <= MAX_EXPOSURE),
        "{exposure:?} in\n{text}"
    );
}

/// A daemon with this test in systemd's place.
struct Served {
    child: Child,
    ear: UnixDatagram,
    heard: Vec<String>,
    _place: TempDir,
}

impl Served {
    fn start(watchdog: Duration) -> Self {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("notify");
        let ear = UnixDatagram::bind(&socket).unwrap();
        // The pid that the watchdog is meant for is known only to the process itself.
        let child = Command::new("/bin/sh")
            .args([
                "-c",
                "WATCHDOG_PID=$$ exec \"$0\" serve",
                env!("CARGO_BIN_EXE_ralphd"),
            ])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", place.path())
            .env("RALPHD_HTTP__LISTEN", "127.0.0.1:0")
            .env("STATE_DIRECTORY", place.path().join("state"))
            .env("NOTIFY_SOCKET", &socket)
            .env("WATCHDOG_USEC", watchdog.as_micros().to_string())
            .spawn()
            .unwrap();
        Self {
            child,
            ear,
            heard: Vec::new(),
            _place: place,
        }
    }

    /// Listens until `count` lines begin with `wanted`.
    fn hear(&mut self, wanted: &str, count: usize) {
        let until = Instant::now() + PATIENCE;
        let mut message = [0u8; 4096];
        while self
            .heard
            .iter()
            .filter(|line| line.starts_with(wanted))
            .count()
            < count
        {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no {wanted} in {:?}", self.heard);
            self.ear.set_read_timeout(Some(left)).unwrap();
            if let Ok(length) = self.ear.recv(&mut message) {
                let text = String::from_utf8_lossy(&message[..length]);
                self.heard.extend(text.lines().map(str::to_owned));
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_daemon_tells_systemd_how_it_is() {
    let mut served = Served::start(Duration::from_secs(2));
    served.hear("READY=1", 1);
    served.hear("STATUS=working on ", 1);
    served.hear("WATCHDOG=1", 2);
    assert!(!served.heard.iter().any(|line| line == "STOPPING=1"));
    let pid = rustix::process::Pid::from_child(&served.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    served.hear("STOPPING=1", 1);
    let status = served.child.wait().unwrap();
    assert_eq!(status.code(), Some(0), "{:?}", served.heard);
}
