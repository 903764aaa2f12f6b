//! What was done to a tree between two points, as git counts it: commits, files, lines. For the prompt's facts and for people.
//! It must not look at the tree itself.

use super::ground::Ground;
use super::repository::Repository;
use crate::model::mask::Mask;
use anyhow::{Context, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shown of each; the rest is counted.
const MAX_COMMITS: usize = 20;
const MAX_FILES: usize = 100;
/// Beyond this commits are not even counted.
const MAX_COUNTED_COMMITS: usize = 10_000;
const MAX_SUBJECT_CHARS: usize = 120;
/// Named in one line of text.
const MAX_FILES_OF_LINE: usize = 12;
const MAX_COMMITS_OF_LINE: usize = 8;
/// How much of a commit's name is shown.
const SHORT_NAME: usize = 10;

/// One file that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    pub path: String,
    /// Lines; nothing for a file that has none.
    pub added: Option<u64>,
    pub removed: Option<u64>,
}

/// One commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitMade {
    pub commit: String,
    pub subject: String,
}

/// What happened since the point before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Facts {
    /// Nothing where the tree is on none.
    pub branch: Option<String>,
    pub head: Option<String>,
    /// The newest first, the agent's and ours; at most 20 of them.
    pub commits: Vec<CommitMade>,
    pub commit_count: u64,
    /// At most 100 of them.
    pub files: Vec<FileChange>,
    pub file_count: u64,
    pub added: u64,
    pub removed: u64,
}

impl Facts {
    /// In words, one thing a line; nothing where nothing happened.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.file_count > 0 {
            let shown: Vec<String> = self
                .files
                .iter()
                .take(MAX_FILES_OF_LINE)
                .map(FileChange::in_words)
                .collect();
            let more = rest(self.file_count, shown.len());
            let noun = if self.file_count == 1 {
                "file"
            } else {
                "files"
            };
            lines.push(format!(
                "{} {noun} changed, +{} -{}: {}{more}",
                self.file_count,
                self.added,
                self.removed,
                shown.join(", ")
            ));
        }
        if self.commit_count > 0 {
            let shown: Vec<String> = self
                .commits
                .iter()
                .take(MAX_COMMITS_OF_LINE)
                .map(|made| format!("{} {}", made.commit, made.subject))
                .collect();
            let more = rest(self.commit_count, shown.len());
            lines.push(format!("commits: {}{more}", shown.join("; ")));
        }
        lines
    }

    pub(super) fn count_files(&mut self, files: Vec<FileChange>, mask: &Mask) {
        self.file_count = files.len() as u64;
        self.added = files.iter().filter_map(|file| file.added).sum();
        self.removed = files.iter().filter_map(|file| file.removed).sum();
        self.files = files;
        self.files.truncate(MAX_FILES);
        for file in &mut self.files {
            file.path = mask.text(&file.path).replace(char::is_control, "?");
        }
    }

    pub(super) fn count_commits(&mut self, commits: Vec<CommitMade>) {
        self.commit_count = commits.len() as u64;
        self.commits = commits;
        self.commits.truncate(MAX_COMMITS);
    }
}

/// What was done between two points of one repository.
pub async fn changes_between(ground: &Ground, from: &str, to: &str, mask: &Mask) -> Result<Facts> {
    let repository = ground.repository();
    let mut facts = Facts::default();
    facts.count_files(files_between(repository, from, to).await?, mask);
    if !ground.is_shadow() {
        facts.count_commits(commits_between(repository, from, to, mask).await?);
    }
    Ok(facts)
}

impl FileChange {
    fn in_words(&self) -> String {
        match (self.added, self.removed) {
            (Some(added), Some(removed)) => format!("{} +{added} -{removed}", self.path),
            _ => format!("{} (binary)", self.path),
        }
    }
}

impl CommitMade {
    pub(super) fn new(commit: &str, subject: &str, mask: &Mask) -> Self {
        Self {
            commit: commit.chars().take(SHORT_NAME).collect(),
            subject: one_line(subject, mask),
        }
    }
}

/// Text of an agent, fit for one line.
pub(super) fn one_line(text: &str, mask: &Mask) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().take(MAX_SUBJECT_CHARS).map(clean).collect();
    mask.text(text.trim()).into_owned()
}

fn rest(count: u64, shown: usize) -> String {
    match count.saturating_sub(shown as u64) {
        0 => String::new(),
        more => format!(", and {more} more"),
    }
}

/// The files in which two commits or trees differ.
pub(super) async fn files_between(
    repository: &Repository,
    from: &str,
    to: &str,
) -> Result<Vec<FileChange>> {
    let words = [
        "diff-tree",
        "-r",
        "-z",
        "--numstat",
        "-M",
        "--no-ext-diff",
        "--no-textconv",
        from,
        to,
    ];
    let said = repository.call(words).bytes().await?;
    read_files(&said).context("git diff-tree says what is not understood")
}

/// `added TAB removed TAB path NUL`, or for a file that moved `added TAB removed TAB NUL from NUL to NUL`.
fn read_files(said: &[u8]) -> Option<Vec<FileChange>> {
    let mut files = Vec::new();
    let mut parts = said
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        let mut fields = part.splitn(3, |byte| *byte == b'\t');
        let mut count = || {
            let field = std::str::from_utf8(fields.next()?).ok()?;
            Some(field.parse().ok())
        };
        let (added, removed) = (count()?, count()?);
        let path = match fields.next()? {
            [] => {
                parts.next()?;
                parts.next()?
            }
            path => path,
        };
        files.push(FileChange {
            path: String::from_utf8_lossy(path).into_owned(),
            added,
            removed,
        });
    }
    Some(files)
}

/// The commits that `to` has and `from` has not, the newest first.
pub(super) async fn commits_between(
    repository: &Repository,
    from: &str,
    to: &str,
    mask: &Mask,
) -> Result<Vec<CommitMade>> {
    let (range, most) = (format!("{from}..{to}"), MAX_COUNTED_COMMITS.to_string());
    let words = [
        "log",
        "-z",
        "--format=%H %s",
        "--no-show-signature",
        "--max-count",
        &most,
        &range,
        "--",
    ];
    let said = repository.call(words).bytes().await?;
    let commits = said
        .split(|byte| *byte == 0)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let line = String::from_utf8_lossy(line);
            let (commit, subject) = line.split_once(' ').unwrap_or((&line, ""));
            CommitMade::new(commit, subject, mask)
        });
    Ok(commits.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_files_are_read() {
        let said = b"3\t1\ta\tb\n.rs\0-\t-\tlogo.png\x000\t0\t\0old\0new\0";
        let files = read_files(said).unwrap();
        let seen: Vec<(&str, Option<u64>, Option<u64>)> = files
            .iter()
            .map(|file| (file.path.as_str(), file.added, file.removed))
            .collect();
        let expected = [
            ("a\tb\n.rs", Some(3), Some(1)),
            ("logo.png", None, None),
            ("new", Some(0), Some(0)),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn in_words() {
        let mut facts = Facts::default();
        assert!(facts.lines().is_empty());
        let file = |path: &str, added, removed| FileChange {
            path: path.to_owned(),
            added,
            removed,
        };
        facts.count_files(
            vec![
                file("src/a.rs", Some(100), Some(0)),
                file("logo.png", None, None),
            ],
            &Mask::default(),
        );
        facts.count_commits(vec![CommitMade::new(
            "1a2b3c4d5e6f7",
            "Fix\tthe parser",
            &Mask::default(),
        )]);
        let expected = [
            "2 files changed, +100 -0: src/a.rs +100 -0, logo.png (binary)",
            "commits: 1a2b3c4d5e Fix the parser",
        ];
        assert_eq!(facts.lines(), expected);
    }
}
