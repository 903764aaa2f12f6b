//! What a source has to offer, and which of it is meant by a reference. It must not fetch anything.

use crate::workspace::git::tool::Tool;
use anyhow::Result;
use std::path::Path;
use std::time::Duration;

/// How many branches are named to somebody who asked for one that is not there.
const SHOWN_BRANCHES: usize = 8;
/// The shortest beginning of a commit id that is taken for one.
const MIN_ID_CHARS: usize = 7;
const IDS_CHARS: [usize; 2] = [40, 64];

/// The branches and tags of a source.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The branch that is checked out there; none where that is a bare commit.
    pub checked_out: Option<String>,
    pub head: Option<String>,
    pub branches: Vec<String>,
    pub tags: Vec<String>,
}

/// What is to be worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Branch(String),
    Tag(String),
    Commit(String),
    /// The source has no commit yet.
    Nothing,
}

impl Target {
    /// Where it is found once it was fetched.
    pub fn local(&self) -> Option<String> {
        match self {
            Target::Branch(name) => Some(tracking(name)),
            Target::Tag(name) => Some(format!("refs/tags/{name}")),
            Target::Commit(id) => Some(id.clone()),
            Target::Nothing => None,
        }
    }

    /// What to fetch when nothing but this is wanted.
    pub fn refspec(&self) -> Option<String> {
        match self {
            Target::Branch(name) => Some(format!("+refs/heads/{name}:{}", tracking(name))),
            Target::Tag(name) => Some(format!("refs/tags/{name}:refs/tags/{name}")),
            Target::Commit(id) => Some(id.clone()),
            Target::Nothing => None,
        }
    }

    /// The branch of the source that is followed from then on.
    pub fn follows(&self) -> Option<String> {
        match self {
            Target::Branch(name) => Some(name.clone()),
            _ => None,
        }
    }
}

/// The name under which a branch of the source is kept.
pub fn tracking(branch: &str) -> String {
    format!("refs/remotes/origin/{branch}")
}

/// Asks a source. `directory` is outside of any repository.
pub async fn ask(
    tool: &Tool,
    directory: &Path,
    address: &str,
    reference: Option<&str>,
    deadline: Duration,
) -> Result<Offer> {
    let tag = reference.map(|name| {
        let name = name.strip_prefix("refs/tags/").unwrap_or(name);
        format!("refs/tags/{name}")
    });
    let mut words = vec![
        "ls-remote",
        "--symref",
        "--",
        address,
        "HEAD",
        "refs/heads/*",
    ];
    words.extend(tag.as_deref());
    let said = tool.call(directory, words).within(deadline).text().await?;
    Ok(read(&said))
}

/// Reads what `git ls-remote --symref` says.
fn read(said: &str) -> Offer {
    let mut offer = Offer::default();
    for (value, name) in said.lines().filter_map(|line| line.split_once('\t')) {
        if let Some(leads_to) = value.strip_prefix("ref: ") {
            if name == "HEAD" {
                offer.checked_out = leads_to.strip_prefix("refs/heads/").map(str::to_owned);
            }
        } else if name == "HEAD" {
            offer.head = Some(value.to_owned());
        } else if let Some(branch) = name.strip_prefix("refs/heads/") {
            offer.branches.push(branch.to_owned());
        } else if let Some(tag) = name.strip_prefix("refs/tags/") {
            let tag = tag.strip_suffix("^{}").unwrap_or(tag);
            if offer.tags.last().is_none_or(|last| last != tag) {
                offer.tags.push(tag.to_owned());
            }
        }
    }
    offer
}

impl Offer {
    /// How the source names its objects.
    pub fn object_format(&self) -> &'static str {
        match &self.head {
            Some(id) if id.len() == IDS_CHARS[1] => "sha256",
            _ => "sha1",
        }
    }

    /// What is meant by a reference. The error is the rest of a sentence about the source.
    pub fn choose(&self, reference: Option<&str>, shallow: bool) -> Result<Target, String> {
        let Some(name) = reference.filter(|name| *name != "HEAD") else {
            return self.checked_out();
        };
        let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
        let tag = name.strip_prefix("refs/tags/").unwrap_or(name);
        if self.branches.iter().any(|known| known == branch) {
            return Ok(Target::Branch(branch.to_owned()));
        }
        if self.tags.iter().any(|known| known == tag) {
            return Ok(Target::Tag(tag.to_owned()));
        }
        if is_id(name) && (IDS_CHARS.contains(&name.len()) || !shallow) {
            return Ok(Target::Commit(name.to_owned()));
        }
        Err(self.lacks(name))
    }

    fn checked_out(&self) -> Result<Target, String> {
        match (&self.checked_out, &self.head) {
            (_, None) if self.branches.is_empty() => Ok(Target::Nothing),
            (_, None) => Err(format!(
                "has nothing checked out; say which ref: {}",
                self.some_branches()
            )),
            (Some(branch), _) => Ok(Target::Branch(branch.clone())),
            (None, Some(commit)) => Ok(Target::Commit(commit.clone())),
        }
    }

    /// That a name is not there, and what is.
    pub fn lacks(&self, name: &str) -> String {
        let lack = format!("has no branch, tag or commit {name:?}");
        if self.branches.is_empty() {
            return format!("{lack}; it has no branches at all");
        }
        format!("{lack}; {}", self.some_branches())
    }

    fn some_branches(&self) -> String {
        let shown = self.branches.iter().take(SHOWN_BRANCHES);
        let shown: Vec<&str> = shown.map(String::as_str).collect();
        let more = match self.branches.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("its branches are {}{more}", shown.join(", "))
    }
}

fn is_id(text: &str) -> bool {
    text.len() >= MIN_ID_CHARS
        && text.len() <= IDS_CHARS[1]
        && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer() -> Offer {
        let id = "0123456789012345678901234567890123456789";
        read(&format!(
            "ref: refs/heads/main\tHEAD\n{id}\tHEAD\nref: refs/x\trefs/remotes/origin/HEAD\n{id}\trefs/heads/abcdef1\n{id}\trefs/heads/main\n{id}\trefs/tags/v1\n{id}\trefs/tags/v1^{{}}"
        ))
    }

    #[test]
    fn what_a_reference_means() {
        let branch = |name: &str| Ok(Target::Branch(name.to_owned()));
        let id = "f123456789012345678901234567890123456789";
        for (reference, shallow, expected) in [
            (None, false, branch("main")),
            (Some("HEAD"), false, branch("main")),
            (Some("main"), true, branch("main")),
            (Some("refs/heads/main"), false, branch("main")),
            (Some("abcdef1"), false, branch("abcdef1")),
            (Some("v1"), false, Ok(Target::Tag("v1".to_owned()))),
            (
                Some("refs/tags/v1"),
                false,
                Ok(Target::Tag("v1".to_owned())),
            ),
            (Some(id), true, Ok(Target::Commit(id.to_owned()))),
            (
                Some("f123456"),
                false,
                Ok(Target::Commit("f123456".to_owned())),
            ),
            (
                Some("f123456"),
                true,
                Err(
                    "has no branch, tag or commit \"f123456\"; its branches are abcdef1, main"
                        .to_owned(),
                ),
            ),
            (
                Some("other"),
                false,
                Err(
                    "has no branch, tag or commit \"other\"; its branches are abcdef1, main"
                        .to_owned(),
                ),
            ),
        ] {
            assert_eq!(
                offer().choose(reference, shallow),
                expected,
                "{reference:?}"
            );
        }
        assert_eq!(Offer::default().choose(None, false), Ok(Target::Nothing));
        let unborn = Offer {
            head: None,
            ..offer()
        };
        let refused = unborn.choose(None, false).unwrap_err();
        assert!(
            refused.contains("its branches are abcdef1, main"),
            "{refused}"
        );
        let refused = Offer::default().choose(Some("main"), false).unwrap_err();
        assert!(refused.ends_with("it has no branches at all"), "{refused}");
    }
}
