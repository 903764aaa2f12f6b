//! A site: a directory with a state, a configuration and agents that are small shell scripts. Nothing runs in it yet.

use super::disk::Disk;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_ralphd");

/// Where a test takes place.
pub struct Site {
    /// Before the directory that it is in: it goes first.
    disk: Option<Disk>,
    root: TempDir,
    config: String,
    environment: Vec<(String, String)>,
}

/// How a command ended and what it said.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Site {
    /// An empty site; `[defaults].agent` is the first agent that is added.
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        Self {
            disk: None,
            root,
            config: String::new(),
            environment: Vec::new(),
        }
    }

    /// A site whose only agent, `worker`, runs this shell script.
    pub fn with_worker(script: &str) -> Self {
        Self::new().agent("worker", script)
    }

    /// Adds an agent. In its script `$HERE` is the site's directory, `$TURNS` counts its runs in all sessions.
    pub fn agent(self, name: &str, script: &str) -> Self {
        let here = self.root().display();
        let path = self.file(&format!("{name}.sh"));
        let text = format!(
            "HERE='{here}'\necho run >>\"$HERE/{name}.runs\"\nTURNS=$(wc -l <\"$HERE/{name}.runs\")\n{script}\n"
        );
        fs::write(&path, text).unwrap();
        let command = format!("[\"/bin/sh\", \"{}\"]", path.display());
        self.configure(&format!("[agents.{name}]\ncommand = {command}\n"))
    }

    /// Adds to the configuration file.
    pub fn configure(mut self, text: &str) -> Self {
        self.config.push_str(text);
        fs::write(self.file("ralphd.toml"), &self.config).unwrap();
        self
    }

    /// Sets a variable for everything that is started here.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Puts the state on a disk of its own; nothing where that is not allowed.
    pub fn with_small_state(mut self, mebibytes: u32) -> Option<Self> {
        self.disk = Some(Disk::mount(&self.state(), mebibytes)?);
        Some(self)
    }

    pub fn disk(&self) -> &Disk {
        self.disk
            .as_ref()
            .expect("the state has no disk of its own")
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// A file or directory of the site itself, beside the state.
    pub fn file(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub fn state(&self) -> PathBuf {
        self.file("state")
    }

    pub fn inbox(&self) -> PathBuf {
        self.state().join("inbox")
    }

    /// How often an agent was run.
    pub fn runs(&self, agent: &str) -> usize {
        self.read(&format!("{agent}.runs")).lines().count()
    }

    /// The text of a file of the site; nothing when it is not there.
    pub fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.file(name)).unwrap_or_default()).into_owned()
    }

    /// Puts a whole file into the inbox, by renaming as a careful sender does.
    pub fn drop_file(&self, name: &str, text: &str) {
        fs::create_dir_all(self.inbox()).unwrap();
        let draft = self.state().join(format!("draft-{name}"));
        fs::write(&draft, text).unwrap();
        fs::rename(draft, self.inbox().join(name)).unwrap();
    }

    /// The binary with a clean environment, on this site's state and configuration.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bare_command(arguments);
        command.arg("--config").arg(self.file("ralphd.toml"));
        command.arg("--state").arg(self.state());
        command
    }

    /// The same without `--config` and `--state`.
    pub fn bare_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(self.root());
        command.env_clear().env("HOME", self.root());
        command.env("PATH", std::env::var_os("PATH").unwrap());
        // Any port that is free: many daemons run at the same time.
        command.env("RALPHD_HTTP__LISTEN", "127.0.0.1:0");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command of the program to its end.
    pub fn ralphd(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments))
    }
}

impl Ran {
    /// Runs to the end and collects what was said.
    pub fn of(mut command: Command) -> Self {
        Self::from_output(command.output().unwrap())
    }

    pub fn from_output(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// What it printed, after it was asserted that all went well.
    pub fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }
}
