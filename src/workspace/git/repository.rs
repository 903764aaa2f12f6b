//! A repository and one tree of it, held by their own paths: what an agent writes into its workspace cannot lead our calls elsewhere.

use super::guard;
use super::tool::{Call, Tool};
use crate::files::{self, Unreadable};
use anyhow::{Context, Result, bail};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The name of git's own directory in a tree.
pub const DOT_GIT: &str = ".git";

/// What git writes in its directory. A link there would have us write wherever an agent likes.
const OWN_PARTS: &[&str] = &[
    "HEAD",
    "config",
    "config.worktree",
    "index",
    "info",
    "logs",
    "objects",
    "packed-refs",
    "refs",
];
/// Settings are a page; more than this is read by git alone.
const MAX_SETTINGS_BYTES: u64 = 64 * 1024;

/// A tree whose `.git` is not its own, and why.
#[derive(Debug)]
pub struct Foreign(pub String);

impl std::fmt::Display for Foreign {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Foreign {}

/// A repository as seen from one of its trees.
#[derive(Clone, Debug)]
pub struct Repository {
    tool: Tool,
    /// Where HEAD and the index of this tree are.
    git_dir: PathBuf,
    /// Where objects, branches and settings are; the same but for a linked tree.
    common_dir: PathBuf,
    work_tree: PathBuf,
    overrides: Vec<(String, String)>,
    redirects: Vec<String>,
}

impl Repository {
    /// The repository whose main tree this is; nothing where there is none.
    pub async fn open(tool: &Tool, work_tree: &Path) -> Result<Option<Self>> {
        let git_dir = work_tree.join(DOT_GIT);
        match std::fs::symlink_metadata(&git_dir) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot look at {}", git_dir.display()));
            }
            Ok(facts) if facts.is_dir() => {}
            Ok(_) => bail!(Foreign(format!(
                "{} is not a directory of its own: it leads to a repository elsewhere, which is not touched",
                git_dir.display()
            ))),
        }
        if git_dir.join("commondir").exists() {
            bail!(Foreign(format!(
                "{} shares the repository of another tree, which is not touched",
                git_dir.display()
            )));
        }
        if let Some(trap) = first_trap(&git_dir, 0)? {
            bail!(Foreign(format!(
                "{} is a link or a pipe, which git never makes there; remove it",
                trap.display()
            )));
        }
        Self::at(tool, &git_dir, &git_dir, work_tree)
            .await
            .map(Some)
    }

    /// The repository whose tree a person works in, who may have linked it to another one; nothing where the directory is not the top of a tree.
    pub async fn in_place(tool: &Tool, work_tree: &Path) -> Result<Option<Self>> {
        let words = [
            "rev-parse",
            "--path-format=absolute",
            "--absolute-git-dir",
            "--git-common-dir",
            "--show-toplevel",
        ];
        let (code, said) = tool.call(work_tree, words).ends_with(&[0, 128]).await?;
        let said = String::from_utf8_lossy(&said);
        let &[git_dir, common_dir, top] = said.lines().collect::<Vec<_>>().as_slice() else {
            return Ok(None);
        };
        if code != 0 || Path::new(top) != work_tree.canonicalize()? {
            return Ok(None);
        }
        let owner = std::fs::metadata(git_dir)?.uid();
        if owner != rustix::process::geteuid().as_raw() {
            bail!(Foreign(format!(
                "{git_dir} belongs to another user (number {owner}), whose repository is not touched"
            )));
        }
        Self::at(tool, Path::new(git_dir), Path::new(common_dir), work_tree)
            .await
            .map(Some)
    }

    /// A linked tree of a repository, by the directory that git keeps for it there.
    pub async fn linked(&self, git_dir: &Path, work_tree: &Path) -> Result<Self> {
        Self::at(&self.tool, git_dir, &self.common_dir, work_tree).await
    }

    /// A repository without a tree of its own that watches over `work_tree`.
    pub async fn beside(tool: &Tool, git_dir: &Path, work_tree: &Path) -> Result<Self> {
        Self::at(tool, git_dir, git_dir, work_tree).await
    }

    /// The same tree with its settings read again: an agent may have changed them since.
    pub async fn again(&self) -> Result<Self> {
        Self::at(&self.tool, &self.git_dir, &self.common_dir, &self.work_tree).await
    }

    async fn at(tool: &Tool, git_dir: &Path, common_dir: &Path, work_tree: &Path) -> Result<Self> {
        let mut repository = Self {
            tool: tool.clone(),
            git_dir: git_dir.to_owned(),
            common_dir: common_dir.to_owned(),
            work_tree: work_tree.to_owned(),
            overrides: guard::overrides(std::iter::empty()),
            redirects: Vec::new(),
        };
        repository.lead_nowhere()?;
        if repository.settings_are_harmless() {
            return Ok(repository);
        }
        // It follows inclusions, and reads all that later calls will read.
        let listed = repository
            .call(["config", "--list", "--name-only", "-z", "--includes"])
            .bytes()
            .await?;
        let listed = String::from_utf8_lossy(&listed);
        let names: Vec<&str> = listed.split('\0').filter(|name| !name.is_empty()).collect();
        // What we say ourselves is among them, and is no offence.
        let own: Vec<String> = repository
            .tool
            .call(work_tree, [])
            .setting_names()
            .collect();
        let told = |name: &&str| own.iter().any(|own| own.eq_ignore_ascii_case(name));
        repository.overrides = guard::overrides(names.iter().copied());
        repository.redirects = names
            .iter()
            .filter(|name| guard::redirects(name) && !told(name))
            .map(|name| (*name).to_owned())
            .collect();
        Ok(repository)
    }

    fn lead_nowhere(&self) -> Result<()> {
        let places = [&self.git_dir, &self.common_dir];
        let parts = OWN_PARTS
            .iter()
            .flat_map(|part| places.map(|place| place.join(part)));
        for part in parts {
            if part.is_symlink() {
                bail!(Foreign(format!(
                    "{} is a link: it leads elsewhere, which is not touched",
                    part.display()
                )));
            }
        }
        Ok(())
    }

    /// Mostly they are, and a look costs less than a process.
    fn settings_are_harmless(&self) -> bool {
        let texts = [
            self.common_dir.join("config"),
            self.git_dir.join("config.worktree"),
        ];
        texts
            .iter()
            .all(|path| match files::read_regular(path, MAX_SETTINGS_BYTES) {
                Ok(text) => guard::is_harmless(&text),
                Err(problem) => problem == Unreadable::Missing,
            })
    }

    /// A call on this tree.
    pub fn call<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Call {
        self.tool
            .call_with(&self.work_tree, self.overrides.clone(), words)
            .variable("GIT_DIR", self.git_dir.to_string_lossy())
            .variable("GIT_COMMON_DIR", self.common_dir.to_string_lossy())
            .variable("GIT_WORK_TREE", self.work_tree.to_string_lossy())
            .locks_in(
                vec![self.git_dir.clone(), self.common_dir.clone()],
                self.work_tree.clone(),
            )
    }

    /// A call that reaches another repository; refused where the settings of this one would lead it astray.
    pub fn call_out<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Result<Call> {
        if let Some(name) = self.redirects.first() {
            bail!(Foreign(format!(
                "the settings of {} lead elsewhere ({name}); remove that, or set it under [git] settings",
                self.common_dir.display()
            )));
        }
        // The old way of naming addresses; a file there may be named like the one that is told.
        for old in ["remotes", "branches"].map(|name| self.common_dir.join(name)) {
            if std::fs::read_dir(&old).is_ok_and(|mut files| files.next().is_some()) {
                bail!(Foreign(format!(
                    "{} holds addresses of other repositories; remove it",
                    old.display()
                )));
            }
        }
        Ok(self.call(words))
    }

    pub fn tool(&self) -> &Tool {
        &self.tool
    }

    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    pub fn work_tree(&self) -> &Path {
        &self.work_tree
    }

    /// The commit that a name stands for; nothing where it stands for none. It can then be no option.
    pub async fn commit_of(&self, name: &str) -> Result<Option<String>> {
        if name.starts_with('-') || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Ok(None);
        }
        let commit = format!("{name}^{{commit}}");
        let words = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            commit.as_str(),
        ];
        let (code, said) = self.call(words).ends_with(&[0, 1, 128]).await?;
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        Ok((code == 0).then_some(said))
    }

    /// The commit that the tree stands on; nothing before the first one.
    pub async fn head(&self) -> Result<Option<String>> {
        self.commit_of("HEAD").await
    }

    /// The branch that the tree is on; nothing where it is on none.
    pub async fn branch(&self) -> Result<Option<String>> {
        let words = ["symbolic-ref", "--quiet", "--short", "HEAD"];
        let (code, said) = self.call(words).ends_with(&[0, 1]).await?;
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        Ok((code == 0).then_some(said))
    }
}

/// What git does not write to by itself.
const NOT_WALKED: &[&str] = &["hooks", "lfs", "modules"];
const MAX_DEPTH: u32 = 32;

/// A link inside a `.git`, which git would follow to write what lies behind it, or a pipe, at which it would wait for ever.
fn first_trap(directory: &Path, depth: u32) -> Result<Option<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        // Others may work in trees that share it.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        entries => entries.with_context(|| format!("cannot look at {}", directory.display()))?,
    };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_symlink() || kind.is_fifo() {
            return Ok(Some(entry.path()));
        }
        let name = entry.file_name();
        let skipped = depth == 0 && NOT_WALKED.iter().any(|other| name == *other);
        // The two letters that begin an object's name: many, and what is in them is never changed.
        let fan = depth == 1 && name.len() == 2 && directory.ends_with("objects");
        if kind.is_dir() && !skipped && !fan && depth < MAX_DEPTH {
            let found = first_trap(&entry.path(), depth + 1)?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(None)
}
