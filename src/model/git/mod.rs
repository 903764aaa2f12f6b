//! The words of git that requests and the configuration use: where a repository is, what a branch is called, who commits.
//! It looks nothing up.

mod location;

pub use location::{Source, check_location, check_reference, seen_from};

use super::id::{short, slug};

/// The longest part of a branch's name that is made from an objective.
const MAX_SLUG_CHARS: usize = 40;
/// What the branches of agents begin with.
pub const BRANCHES: &str = "agent/";

/// Who is named in commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
}

impl Default for Author {
    fn default() -> Self {
        Self {
            name: "ralphd".to_owned(),
            email: "ralphd@localhost".to_owned(),
        }
    }
}

impl Author {
    /// Reads `Name <address>`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.trim().split_once('<')?;
        let email = rest.strip_suffix('>')?.trim();
        let name = name.trim();
        let plain = |text: &str| !text.is_empty() && !text.contains(['<', '>', '\n', '\r', '\0']);
        (plain(name) && plain(email)).then(|| Self {
            name: name.to_owned(),
            email: email.to_owned(),
        })
    }
}

/// The branch that a session works on: what it is about, and whose it is.
pub fn branch_of(words: &str, session: &str) -> String {
    format!(
        "{BRANCHES}{}-{}",
        slug(words, MAX_SLUG_CHARS),
        short(session)
    )
}

/// The branch that one task of a session works on, beside the others.
pub fn branch_of_task(working: &str, order: i64) -> String {
    format!("{working}-task-{order}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors() {
        let author = |text| Author::parse(text).map(|author| (author.name, author.email));
        let expected = Some(("Night Shift".to_owned(), "night@example.org".to_owned()));
        assert_eq!(author("Night Shift <night@example.org>"), expected);
        for wrong in [
            "",
            "night@example.org",
            "<a@b>",
            "A <>",
            "A <a@b> x",
            "A\nB <a@b>",
        ] {
            assert_eq!(author(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn branches() {
        let session = "019a8b2c-1234-7000-8000-0123456789ab";
        let working = branch_of("Refactor the auth module!", session);
        assert_eq!(working, "agent/refactor-the-auth-module-456789ab");
        assert_eq!(
            branch_of_task(&working, 2),
            "agent/refactor-the-auth-module-456789ab-task-2"
        );
    }
}
