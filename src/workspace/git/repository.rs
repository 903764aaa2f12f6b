//! A repository and one tree of it, held by their own paths: what an agent writes into its workspace cannot lead our calls elsewhere.

use super::guard;
use super::tool::{Call, Tool};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// The name of git's own directory in a tree.
pub const DOT_GIT: &str = ".git";

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
        Self::at(tool, &git_dir, &git_dir, work_tree)
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
