//! Turns run by the real binary as shim, with real programs: the place they run in.

mod adoption;
mod capture;
mod containment;
mod ending;
mod output;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralphd::process::{Ended, Limits, Outcome, Program, Sighting, Supervisor, look};
use tempfile::TempDir;
use tokio::sync::watch;

const BINARY: &str = env!("CARGO_BIN_EXE_ralphd");
const PATIENCE: Duration = Duration::from_secs(30);

/// A place for one turn, with a mark that no other test has.
struct Place {
    root: TempDir,
    mark: String,
}

impl Place {
    fn new() -> Self {
        let mark = format!("turn-{}", uuid::Uuid::now_v7());
        Self {
            root: tempfile::tempdir().unwrap(),
            mark,
        }
    }

    fn dir(&self) -> PathBuf {
        self.root.path().join(&self.mark)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.file(name)).unwrap_or_default()).into_owned()
    }

    fn program(&self, argv: &[&str]) -> Program {
        Program {
            argv: argv.iter().map(ToString::to_string).collect(),
            cwd: self.root.path().to_owned(),
            stdin: None,
            stdout: self.file("out"),
            stderr: self.file("err"),
            output_cap_bytes: 1_000_000,
            deadline_ms: 60_000,
            silence_ms: None,
            kill_grace_ms: 5_000,
            limits: Limits::default(),
            secret_names: Vec::new(),
            secrets: Vec::new(),
        }
    }

    fn shell(&self, script: &str) -> Program {
        self.program(&["sh", "-c", script])
    }

    /// A script that stands in for the binary and becomes it in the end.
    fn wrapper(&self, before: &str) -> PathBuf {
        let path = self.file("shim.sh");
        fs::write(
            &path,
            format!("#!/bin/sh\n{before}\nexec {BINARY} \"$@\"\n"),
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    async fn run(&self, program: &Program) -> Outcome {
        self.run_as(Path::new(BINARY), program).await
    }

    async fn run_as(&self, shim: &Path, program: &Program) -> Outcome {
        let (_keep, stop) = watch::channel(false);
        Supervisor::with_shim(shim)
            .run(&self.dir(), program, &environment(), stop)
            .await
            .unwrap()
    }

    async fn ended(&self, program: &Program) -> Ended {
        match self.run(program).await {
            Outcome::Ended(ended) => ended,
            Outcome::Lost => panic!("the turn was lost"),
        }
    }

    fn shim_pid(&self) -> Option<i32> {
        match look(&self.dir()).unwrap() {
            Sighting::Running { shim_pid } => Some(shim_pid),
            _ => None,
        }
    }

    /// Every living process that carries this turn's mark.
    fn alive(&self) -> Vec<i32> {
        let wanted = format!("RALPHD_TURN={}", self.mark);
        let pids = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        pids.filter(|pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == wanted.as_bytes())
        })
        .collect()
    }
}

fn environment() -> Vec<(String, String)> {
    vec![
        ("PATH".to_owned(), std::env::var("PATH").unwrap()),
        ("GIVEN".to_owned(), "s3cret".to_owned()),
    ]
}

async fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < until, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A time to sleep that no other run of these tests has, to find the sleeper by.
fn long_sleep(number: u32) -> String {
    format!("{}.{}", 600 + number, std::process::id())
}

/// The living processes that sleep for just this time.
fn sleepers(argument: &str) -> Vec<i32> {
    let pids = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let wanted = format!("sleep\0{argument}\0");
    pids.filter(|pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default() == wanted.as_bytes()
    })
    .collect()
}
