//! Whether the repository beside a plain directory, and what git is told on top of it, are as we leave them, so that its files mean what
//! we take them to mean. A doubt counts as no. It only reads.

use super::tree::Flat;
use crate::files;
use crate::model::git::Author;
use crate::workspace::git::tool::Tool;
use crate::workspace::letters;
use std::path::Path;

const MAX_SETTINGS_BYTES: u64 = 4096;
/// What `git init` writes, and what we add (`ground`). A repository with other names, other hashes or other tables of names says so here.
const USUAL: &[&str] = &[
    "",
    "[core]",
    "repositoryformatversion = 0",
    "filemode = true",
    "bare = true",
    "autocrlf = false",
    "untrackedCache = true",
    "[index]",
    "version = 4",
    "skipHash = true",
];
/// Without these lines files would not be kept as they are.
const NEEDED: &[&str] = &["repositoryformatversion = 0", "filemode = true"];
/// With these, git knows more of objects or files than lies open.
const UNUSUAL_FILES: &[&str] = &["info/exclude", "info/grafts", "shallow", "config.worktree"];
/// Settings that have nothing to do with what is kept: they are for the way to other machines, and for people.
const ELSEWHERE: &[&str] = &[
    "credential",
    "fetch",
    "http",
    "protocol",
    "push",
    "remote",
    "ssh",
    "url",
    "user",
];
/// Git takes these away from both ends of a name.
const CRUD: &[char] = &['.', ',', ':', ';', '<', '>', '"', '\\', '\''];

pub fn is_as_we_leave_it(git_dir: &Path) -> bool {
    let Ok(text) = files::read_regular(&git_dir.join("config"), MAX_SETTINGS_BYTES) else {
        return false;
    };
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.iter().all(|line| USUAL.contains(line))
        && NEEDED.iter().all(|line| lines.contains(line))
        && UNUSUAL_FILES
            .iter()
            .all(|name| !git_dir.join(name).exists())
}

/// Whether all that the configuration says to git is about something else.
pub fn takes_settings(tool: &Tool) -> bool {
    tool.settings().all(|name| {
        let section = name.split('.').next().unwrap_or_default();
        ELSEWHERE
            .iter()
            .any(|other| section.eq_ignore_ascii_case(other))
    })
}

/// Whether git would write this author as it is.
pub fn takes_author(author: &Author) -> bool {
    let takes = |text: &str| {
        let is_crud = |c: char| c <= ' ' || CRUD.contains(&c);
        !text.is_empty()
            && !text.starts_with(is_crud)
            && !text.ends_with(is_crud)
            && !text.contains(['<', '>', '\n', '\0'])
    };
    takes(&author.name) && takes(&author.email)
}

/// Whether a point holds anything where the letters to the daemon lie: then not all of them are letters.
pub fn holds_letters(files: &Flat) -> bool {
    let below = format!("{}/", letters::DIRECTORY).into_bytes();
    files.contains_key(letters::DIRECTORY.as_bytes())
        || files
            .range(below.clone()..)
            .next()
            .is_some_and(|(path, _)| path.starts_with(&below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_usual_repository() {
        let place = tempfile::tempdir().unwrap();
        let usual = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";
        for (more, expected) in [
            ("", true),
            ("[core]\n\tautocrlf = false\n", true),
            ("\tignorecase = true\n", false),
            ("[extensions]\n\tobjectformat = sha256\n", false),
            ("[extensions]\n\trefstorage = reftable\n", false),
            ("[diff]\n\talgorithm = histogram\n", false),
        ] {
            std::fs::write(place.path().join("config"), format!("{usual}{more}")).unwrap();
            assert_eq!(is_as_we_leave_it(place.path()), expected, "{more}");
        }
        std::fs::write(place.path().join("config"), usual).unwrap();
        std::fs::write(place.path().join("shallow"), "").unwrap();
        assert!(!is_as_we_leave_it(place.path()));
    }

    #[test]
    fn authors_and_settings() {
        for (name, taken) in [("ralphd", true), ("Jr.", false), ("\"x\"", false)] {
            let author = Author {
                name: name.to_owned(),
                ..Author::default()
            };
            assert_eq!(takes_author(&author), taken, "{name}");
        }
        for (setting, taken) in [("http.proxy", true), ("core.autocrlf", false)] {
            let settings = vec![(setting.to_owned(), "x".to_owned())];
            let tool = Tool::new(Author::default(), settings);
            assert_eq!(takes_settings(&tool), taken, "{setting}");
        }
    }
}
