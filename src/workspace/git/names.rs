//! Names of branches, held to git's own rules before git sees them: none can be an option, a range or a way out of `refs/heads`. Pure.

use anyhow::{Result, bail};

const MAX_NAME_BYTES: usize = 200;

/// Refuses what git would not take for a branch, or would take for something else.
pub fn check_branch(name: &str) -> Result<()> {
    let odd = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    let wrong_part =
        |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    let wrong = name.len() > MAX_NAME_BYTES
        || name == "HEAD"
        || name == "@"
        || name.starts_with('-')
        || name.ends_with('.')
        || name.contains("..")
        || name.contains("@{")
        || name.contains(odd)
        || name.split('/').any(wrong_part);
    if wrong {
        bail!("{name:?} cannot be the name of a branch");
    }
    Ok(())
}

/// The whole name of a branch, which nothing else can be meant by.
pub fn branch_ref(name: &str) -> String {
    format!("refs/heads/{name}")
}

/// The same, after a look at the name.
pub fn checked_ref(name: &str) -> Result<String> {
    check_branch(name)?;
    Ok(branch_ref(name))
}

/// Paths as git lists them between NUL bytes.
pub fn listed(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty())
}

/// For people; what is not UTF-8 is shown with replacement marks.
pub fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_branches_pass() {
        for name in ["main", "agent/fix-1", "ütf", "a.b", "x@y"] {
            assert!(check_branch(name).is_ok(), "{name}");
        }
        for name in [
            "",
            "-x",
            "--upload-pack=x",
            "a..b",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "a.",
            "@",
            "a@{1}",
            "HEAD",
            "a\nb",
            "a\0",
        ] {
            assert!(check_branch(name).is_err(), "{name:?}");
        }
    }
}
