//! Commits that a new point is compared with: where the tree stands, and the point before. Both in one call. It only reads.

use super::repository::Repository;
use anyhow::{Context, Result};

/// In the message of a point that no branch holds.
pub const BESIDE: &str = "Ralphd-Kept: beside the branch\n";

/// A commit, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    pub commit: String,
    pub tree: String,
    pub parent: Option<String>,
    is_beside: bool,
}

impl Known {
    /// Whether the branch is where it was when this was made. A commit that was on the branch and is not any more was taken away.
    pub fn was_made_at(&self, head: Option<&String>) -> bool {
        head == Some(&self.commit) || (self.is_beside && head == self.parent.as_ref())
    }
}

/// What HEAD stands for and what the point before is, as far as the repository has them.
pub async fn head_and_since(
    repository: &Repository,
    since: Option<&str>,
) -> Result<(Option<Known>, Option<Known>)> {
    let is_name = |since: &&str| since.bytes().all(|byte| byte.is_ascii_hexdigit());
    let input = match since.filter(is_name) {
        Some(since) => format!("HEAD^{{commit}}\n{since}^{{commit}}\n"),
        None => "HEAD^{commit}\n".to_owned(),
    };
    let call = repository.call(["cat-file", "--batch"]);
    let said = call.input(input).bytes().await?;
    read(&said).context("git cat-file says what is not understood")
}

fn read(said: &[u8]) -> Option<(Option<Known>, Option<Known>)> {
    let (head, rest) = read_one(said)?;
    let since = match rest {
        [] => None,
        rest => read_one(rest)?.0,
    };
    Some((head, since))
}

/// `name commit size`, that many bytes, and a line's end; or `name missing`.
fn read_one(said: &[u8]) -> Option<(Option<Known>, &[u8])> {
    let end = memchr::memchr(b'\n', said)?;
    let line = std::str::from_utf8(&said[..end]).ok()?;
    let rest = &said[end + 1..];
    let mut words = line.split(' ');
    let (commit, kind, size) = (words.next()?, words.next()?, words.next());
    if kind != "commit" {
        return Some((None, rest));
    }
    let size: usize = size?.parse().ok()?;
    let text = String::from_utf8_lossy(rest.get(..size)?);
    let header = |name: &str| {
        text.lines()
            .take_while(|line| !line.is_empty())
            .find_map(|line| line.strip_prefix(name))
            .map(str::to_owned)
    };
    let known = Known {
        commit: commit.to_owned(),
        tree: header("tree ")?,
        parent: header("parent "),
        is_beside: text.contains(BESIDE),
    };
    Some((Some(known), rest.get(size + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_read() {
        let text =
            "tree t\nparent p\nparent q\nauthor x\n\nSubject\n\nRalphd-Kept: beside the branch\n";
        let known = Known {
            commit: "c".to_owned(),
            tree: "t".to_owned(),
            parent: Some("p".to_owned()),
            is_beside: true,
        };
        assert!(known.was_made_at(Some(&"p".to_owned())));
        assert!(!known.was_made_at(None));
        let said = format!("HEAD^{{commit}} missing\nc commit {}\n{text}\n", text.len());
        assert_eq!(read(said.as_bytes()), Some((None, Some(known))));
        assert_eq!(read(b"HEAD^{commit} missing\n"), Some((None, None)));
    }
}
