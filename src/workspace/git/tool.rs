//! One call of git: its words, what it is told beside them, its end. Where a killed git's lock is in the way, it is tried again.

use super::guard;
use super::locks;
use crate::model::git::Author;
use crate::process::{Captured, Errand, Exit, Surroundings, allowed_environment, capture};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What one call may say; more is an error, not a surprise for the memory.
const MAX_SAID_BYTES: usize = 64 << 20;
/// How long a call may take that reaches no other machine.
const DEADLINE: Duration = Duration::from_secs(600);
/// How often a call is tried whose way is barred by a lock, and how long is waited between.
const MAX_TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);
const MAX_COMPLAINT_CHARS: usize = 2000;

/// Never ask, never wait for a person, never read what the user or the machine has set up for people.
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "/bin/false"),
    ("SSH_ASKPASS", "/bin/false"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GCM_INTERACTIVE", "never"),
    ("GIT_SSH_COMMAND", "ssh -o BatchMode=yes"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh"),
    ("LC_ALL", "C"),
];

/// Git as this house calls it.
#[derive(Clone, Debug)]
pub struct Tool {
    pub author: Author,
    /// What the configuration says to git on top of everything.
    settings: Arc<Vec<(String, String)>>,
}

/// A call of git that did not do what was asked.
#[derive(Clone, Debug)]
pub struct GitFailed {
    /// What was called.
    pub verb: String,
    pub exit: Option<i32>,
    /// Its own words.
    pub complaint: String,
}

impl std::fmt::Display for GitFailed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "git {}: {}", self.verb, self.complaint)
    }
}

impl std::error::Error for GitFailed {}

impl Tool {
    pub fn new(author: Author, settings: Vec<(String, String)>) -> Self {
        Self {
            author,
            settings: Arc::new(settings),
        }
    }

    /// The names of what the configuration says to git.
    pub(super) fn settings(&self) -> impl Iterator<Item = &str> {
        self.settings.iter().map(|(name, _)| name.as_str())
    }

    /// A call outside of any repository, such as a clone.
    pub fn call<'a>(&self, directory: &Path, words: impl IntoIterator<Item = &'a str>) -> Call {
        // A repository further up must not have a say.
        let above = directory.parent().unwrap_or(directory);
        self.call_with(directory, guard::overrides(std::iter::empty()), words)
            .variable("GIT_CEILING_DIRECTORIES", above.to_string_lossy())
    }

    /// A call with what is said on top of a repository's own settings.
    pub(super) fn call_with<'a>(
        &self,
        directory: &Path,
        overrides: Vec<(String, String)>,
        words: impl IntoIterator<Item = &'a str>,
    ) -> Call {
        let mut settings = overrides;
        settings.extend(self.settings.iter().cloned());
        Call {
            words: words.into_iter().map(str::to_owned).collect(),
            directory: directory.to_owned(),
            settings,
            variables: Vec::new(),
            input: None,
            deadline: DEADLINE,
            cap_bytes: MAX_SAID_BYTES,
            may_be_cut: false,
            lock_places: None,
        }
    }
}

/// A call that is being put together.
pub struct Call {
    words: Vec<String>,
    directory: PathBuf,
    settings: Vec<(String, String)>,
    variables: Vec<(String, String)>,
    input: Option<Vec<u8>>,
    deadline: Duration,
    cap_bytes: usize,
    may_be_cut: bool,
    /// The directories of the repository, and its tree: where a lock may be in the way.
    lock_places: Option<(Vec<PathBuf>, PathBuf)>,
}

impl Call {
    pub fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    pub fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The names of what is said beside the words.
    pub(super) fn setting_names(&self) -> impl Iterator<Item = String> {
        self.settings.iter().map(|(name, _)| name.clone())
    }

    pub(super) fn locks_in(mut self, git_dirs: Vec<PathBuf>, work_tree: PathBuf) -> Self {
        self.lock_places = Some((git_dirs, work_tree));
        self
    }

    /// Who is named in what this call makes, and the moment that is named.
    pub fn dated(self, author: &Author, at_ms: i64) -> Self {
        let date = format!("@{} +0000", at_ms.div_euclid(1000));
        self.variable("GIT_AUTHOR_NAME", &author.name)
            .variable("GIT_AUTHOR_EMAIL", &author.email)
            .variable("GIT_AUTHOR_DATE", &date)
            .variable("GIT_COMMITTER_NAME", &author.name)
            .variable("GIT_COMMITTER_EMAIL", &author.email)
            .variable("GIT_COMMITTER_DATE", date)
    }

    /// Keeps no more than this of what is said: its beginning and its end, and a note between them.
    pub fn at_most(mut self, cap_bytes: usize) -> Self {
        self.cap_bytes = cap_bytes;
        self.may_be_cut = true;
        self
    }

    /// Runs to the end, and must succeed.
    pub async fn done(self) -> Result<()> {
        self.bytes().await.map(|_| ())
    }

    /// What it says, without the line's end.
    pub async fn text(self) -> Result<String> {
        let said = self.bytes().await?;
        let text = String::from_utf8_lossy(&said);
        Ok(text.trim_end_matches('\n').to_owned())
    }

    /// What it says, byte by byte.
    pub async fn bytes(self) -> Result<Vec<u8>> {
        let said = self.run().await?;
        match said.exit {
            Exit::Code(0) if !said.timed_out && self.is_whole(&said) => Ok(said.stdout),
            _ => Err(self.failed(&said).into()),
        }
    }

    /// Yes by exit code 0, no by 1; anything else is a failure.
    pub async fn holds(self) -> Result<bool> {
        Ok(self.ends_with(&[0, 1]).await?.0 == 0)
    }

    /// The exit code, which must be one of these, and what was said.
    pub async fn ends_with(self, expected: &[i32]) -> Result<(i32, Vec<u8>)> {
        let said = self.run().await?;
        match said.exit {
            Exit::Code(code)
                if expected.contains(&code) && !said.timed_out && self.is_whole(&said) =>
            {
                Ok((code, said.stdout))
            }
            _ => Err(self.failed(&said).into()),
        }
    }

    fn is_whole(&self, said: &Captured) -> bool {
        self.may_be_cut || !said.truncated
    }

    async fn run(&self) -> Result<Captured> {
        let errand = self.errand();
        let mut tries = 1;
        loop {
            let said = capture(&errand).await?;
            if said.exit == Exit::Code(0) || said.timed_out || tries >= MAX_TRIES {
                return Ok(said);
            }
            let Some((git_dirs, work_tree)) = &self.lock_places else {
                return Ok(said);
            };
            let Some(lock) = locks::in_the_way(&String::from_utf8_lossy(&said.stderr)) else {
                return Ok(said);
            };
            let places: Vec<&Path> = git_dirs.iter().map(PathBuf::as_path).collect();
            if !locks::clear_if_stale(&lock, &places, work_tree) {
                tokio::time::sleep(PAUSE).await;
            }
            tries += 1;
        }
    }

    fn errand(&self) -> Errand {
        let mut argv = vec!["git".to_owned(), "--no-pager".to_owned()];
        argv.extend(self.words.iter().cloned());
        let mut environment = allowed_environment(&["SSH_AUTH_SOCK".to_owned()]);
        environment.retain(|(name, _)| !name.starts_with("GIT_") && !name.starts_with("LC_"));
        let own = VARIABLES.iter();
        environment.extend(own.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        // Not as arguments: the name of a setting may hold an equals sign.
        let count = self.settings.len().to_string();
        environment.push(("GIT_CONFIG_COUNT".to_owned(), count));
        for (number, (name, value)) in self.settings.iter().enumerate() {
            environment.push((format!("GIT_CONFIG_KEY_{number}"), name.clone()));
            environment.push((format!("GIT_CONFIG_VALUE_{number}"), value.clone()));
        }
        environment.retain(|(name, _)| self.variables.iter().all(|(other, _)| other != name));
        environment.extend(self.variables.iter().cloned());
        Errand {
            environment: Surroundings::Whole(environment),
            cwd: Some(self.directory.clone()),
            input: self.input.clone(),
            ..Errand::new(argv, self.deadline, self.cap_bytes)
        }
    }

    fn failed(&self, said: &Captured) -> GitFailed {
        let verb = self.words.first().cloned().unwrap_or_default();
        let (exit, complaint) = match &said.exit {
            _ if said.timed_out => {
                let seconds = self.deadline.as_secs();
                (None, format!("took longer than {seconds} s and was ended"))
            }
            Exit::Code(0) => (Some(0), "said more than can be taken in".to_owned()),
            Exit::NotStarted(why) => (None, format!("cannot be run here: {why}")),
            Exit::Signal(signal) => (None, format!("was killed by signal {signal}")),
            Exit::Code(code) => {
                let words = String::from_utf8_lossy(&said.stderr);
                let words = words.trim();
                let words = match words.is_empty() {
                    true => format!("exit code {code}"),
                    false => words.chars().take(MAX_COMPLAINT_CHARS).collect(),
                };
                (Some(*code), words)
            }
        };
        GitFailed {
            verb,
            exit,
            complaint,
        }
    }
}
