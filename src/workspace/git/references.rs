//! The names that keep points: `refs/ralphd/<session>/<number>`, and `refs/ralphd/abandoned/<session>/…` for what was gone back from.
//! Names move together or not at all. It must not make commits.

use super::repository::Repository;
use anyhow::{Result, ensure};

/// Below it are all names of ours.
pub const ROOT: &str = "refs/ralphd/";

/// The name of a point.
pub fn point_name(session: &str, number: i64) -> Result<String> {
    Ok(format!("{ROOT}{}/{number}", plain(session)?))
}

/// The name of what a session went back from at that time.
pub fn abandoned_name(session: &str, at_ms: i64) -> Result<String> {
    Ok(format!("{ROOT}abandoned/{}/{at_ms}", plain(session)?))
}

fn plain(session: &str) -> Result<&str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    ensure!(
        !session.is_empty() && session != "abandoned" && session.chars().all(fits),
        "a session of the name {session:?} cannot name a point"
    );
    Ok(session)
}

/// Names to be moved, all in one go.
pub struct Orders {
    why: String,
    input: Vec<u8>,
}

impl Orders {
    pub fn new(why: String) -> Self {
        Self {
            why,
            input: Vec::new(),
        }
    }

    fn order(&mut self, words: &[&str]) {
        for word in words {
            self.input.extend_from_slice(word.as_bytes());
            self.input.push(0);
        }
    }

    /// Sets a name, wherever it was.
    pub fn set(&mut self, name: &str, commit: &str) {
        self.order(&[&format!("update {name}"), commit, ""]);
    }

    /// Moves the branch that the tree is on, if it is still where it was.
    pub fn move_head(&mut self, commit: &str, from: Option<&str>) {
        match from {
            Some(from) => self.order(&["update HEAD", commit, from]),
            None => self.order(&["create HEAD", commit]),
        }
    }

    /// Sets HEAD itself to a commit, off any branch, if it is still where it was.
    pub fn set_head(&mut self, commit: &str, from: Option<&str>) {
        self.order(&["option no-deref"]);
        self.order(&["update HEAD", commit, from.unwrap_or_default()]);
    }

    pub async fn carry_out(self, repository: &Repository, at_ms: i64) -> Result<()> {
        if self.input.is_empty() {
            return Ok(());
        }
        let words = ["update-ref", "-m", &self.why, "-z", "--stdin"];
        repository
            .call(words)
            .dated(&repository.tool().author, at_ms)
            .input(self.input)
            .done()
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(point_name("ab-1", 3).unwrap(), "refs/ralphd/ab-1/3");
        assert_eq!(
            abandoned_name("ab-1", 5).unwrap(),
            "refs/ralphd/abandoned/ab-1/5"
        );
        for wrong in ["", "a/b", "..", "a b", "abandoned", "x\n"] {
            assert!(point_name(wrong, 1).is_err(), "{wrong:?}");
        }
    }
}
