//! Where the points of a workspace are kept: in its own repository, or, for a plain directory, in one beside it that watches over it.
//! It must not write into a plain directory.

use super::repository::{Foreign, Repository};
use super::tool::Tool;
use crate::files;
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// Bytes come back as they were, whatever the attributes in the workspace say.
const ATTRIBUTES: &str = "* -text !eol -crlf -ident !filter !working-tree-encoding\n";
/// For many files; nobody else reads this index.
const SETTINGS: &str = "[core]\n\tautocrlf = false\n\tuntrackedCache = true\n[index]\n\tversion = 4\n\tskipHash = true\n";

/// The point of every directory in which nothing is yet: known without asking git, and in every repository beside a directory.
pub const EMPTY_POINT: &str = "c735cd1db7ff0acd88643860e2fb5a448252e6f6";
const EMPTY_COMMIT: &str = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor ralphd <ralphd@localhost> 0 +0000\ncommitter ralphd <ralphd@localhost> 0 +0000\n\nNothing yet\n";

/// A place for points.
#[derive(Clone, Debug)]
pub enum Ground {
    /// The workspace has a repository of its own.
    Own(Repository),
    /// A repository beside a plain directory; HEAD there is the newest point.
    Shadow(Repository),
}

impl Ground {
    pub fn repository(&self) -> &Repository {
        match self {
            Ground::Own(repository) | Ground::Shadow(repository) => repository,
        }
    }

    /// The same, with its settings read again: an agent may have changed them since.
    pub(super) async fn again(&self) -> Result<Self> {
        let repository = self.repository().again().await?;
        Ok(match self {
            Ground::Own(_) => Ground::Own(repository),
            Ground::Shadow(_) => Ground::Shadow(repository),
        })
    }

    pub(super) fn is_shadow(&self) -> bool {
        matches!(self, Ground::Shadow(_))
    }
}

/// Finds where the points of a workspace go. To be asked anew after each turn of an agent: it may have made a repository, or removed it.
pub async fn ground(tool: &Tool, workspace: &Path, shadow: &Path) -> Result<Ground> {
    match Repository::open(tool, workspace).await {
        Ok(Some(repository)) if repository.git_dir().join("HEAD").exists() => {
            return Ok(Ground::Own(repository));
        }
        Ok(_) => {}
        // Its files are watched over all the same.
        Err(error) if error.is::<Foreign>() => {}
        Err(error) => return Err(error),
    }
    shadow_ground(tool, workspace, shadow).await
}

/// Where the points of a plain directory are, whatever lies in it now.
pub async fn shadow_ground(tool: &Tool, workspace: &Path, shadow: &Path) -> Result<Ground> {
    if !shadow.join("HEAD").exists() {
        make_shadow(tool, shadow).await?;
    }
    let repository = Repository::beside(tool, shadow, workspace).await?;
    Ok(Ground::Shadow(repository))
}

/// Makes it under another name first: whoever finds it finds the whole.
async fn make_shadow(tool: &Tool, shadow: &Path) -> Result<()> {
    let above = shadow.parent().context("a repository needs a directory")?;
    files::make_private_directory(above)?;
    let unfinished = shadow.with_extension("unfinished");
    match std::fs::remove_dir_all(&unfinished) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot remove {}", unfinished.display()));
        }
        _ => {}
    }
    let path = unfinished.to_string_lossy();
    let words = ["init", "--quiet", "--bare", "--template=", "--", &path];
    tool.call(above, words).done().await?;
    let config = std::fs::read(unfinished.join("config")).context("read the new settings")?;
    let config = [&config[..], SETTINGS.as_bytes()].concat();
    files::make_private_directory(&unfinished.join("info"))?;
    files::write_whole(&unfinished.join("info/attributes"), ATTRIBUTES.as_bytes())?;
    files::write_whole(&unfinished.join("config"), &config)?;
    plant_empty_point(tool, &unfinished).await?;
    std::fs::rename(&unfinished, shadow)
        .with_context(|| format!("cannot make {}", shadow.display()))
}

async fn plant_empty_point(tool: &Tool, bare: &Path) -> Result<()> {
    let repository = Repository::beside(tool, bare, bare).await?;
    repository.call(["mktree"]).input("").done().await?;
    let words = ["hash-object", "-t", "commit", "-w", "--stdin"];
    let made = repository.call(words).input(EMPTY_COMMIT).text().await?;
    ensure!(made == EMPTY_POINT, "git names the empty point {made}");
    let words = ["update-ref", "refs/ralphd/empty", EMPTY_POINT];
    repository.call(words).done().await
}
