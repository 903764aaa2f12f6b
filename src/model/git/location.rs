//! Where a repository is, and which of its commits is meant, as a request says it. Pure: what git would take for an option, a program or
//! a password is refused before git sees it. It must not look whether anything is there.

use crate::model::document::excerpt;
use std::path::{Component, Path, PathBuf};

const SCHEMES: [&str; 4] = ["https", "http", "ssh", "git"];
const MAX_CHARS: usize = 2000;
const MAX_REFERENCE_CHARS: usize = 250;
/// How the tokens begin that are given to people to stand in for a password.
const TOKENS: [&str; 5] = ["ghp_", "gho_", "ghs_", "github_pat_", "glpat-"];

const PASSWORD: &str = "must not hold a password: requests are stored. Use ssh, or credential.helper under [git] settings";

/// Where a repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// On this machine, absolute.
    Path(PathBuf),
    Url(String),
}

impl std::fmt::Display for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Path(path) => write!(formatter, "{}", path.display()),
            Source::Url(url) => formatter.write_str(url),
        }
    }
}

impl Source {
    /// The error is the rest of a sentence about the key.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("must not be blank".to_owned());
        }
        if text.chars().any(char::is_control) {
            return Err("must not hold control characters".to_owned());
        }
        if text.len() > MAX_CHARS {
            return Err(format!("must have at most {MAX_CHARS} characters"));
        }
        if text.starts_with('-') {
            return Err(format!("must not start with '-', is {}", excerpt(text)));
        }
        if text.starts_with('/') {
            let path = text.trim_end_matches('/');
            let path = if path.is_empty() { "/" } else { path };
            return Ok(Source::Path(PathBuf::from(path)));
        }
        remote(text)?;
        Ok(Source::Url(text.to_owned()))
    }

    /// Whether both are the same place, however it is spelled.
    pub fn is(&self, other: &str) -> bool {
        let plain = |text: &str| {
            let text = text.trim_end_matches('/');
            text.strip_prefix("file://").unwrap_or(text).to_owned()
        };
        plain(&self.to_string()) == plain(other)
    }

    /// As git is told. A local path is linked to instead of copied; where that must not be, it goes by its URL.
    pub fn address(&self, by_url: bool) -> String {
        match self {
            Source::Path(path) if by_url => {
                format!("file://{}", path.to_string_lossy().replace('%', "%25"))
            }
            other => other.to_string(),
        }
    }

    /// The directory, where it is one of this machine.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Source::Path(path) => Some(path),
            Source::Url(_) => None,
        }
    }
}

/// Whether this may say where a repository is; a path may still be seen from somewhere. The error is the rest of a sentence about the key.
pub fn check_location(text: &str) -> Result<(), String> {
    match is_relative(text) {
        true => Source::read(&format!("/{text}")).map(|_| ()),
        false => Source::read(text).map(|_| ()),
    }
}

/// A path that is named from a directory, whole; addresses and whole paths are left as they are.
pub fn seen_from(directory: &Path, text: &str) -> String {
    if !is_relative(text) {
        return text.to_owned();
    }
    let mut whole = PathBuf::new();
    for part in directory.join(text).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(whole.pop()),
            other => whole.push(other),
        }
    }
    whole.to_string_lossy().into_owned()
}

/// A path of this machine that does not begin at its root. What begins with a dash is meant for an option.
fn is_relative(text: &str) -> bool {
    let before_colon = text.split(':').next().unwrap_or_default();
    let is_address = before_colon.len() < text.len() && !before_colon.contains('/');
    !text.trim().is_empty() && !text.starts_with(['-', '/', '~']) && !is_address
}

fn remote(text: &str) -> Result<(), String> {
    if let Some((helper, _)) = text.split_once("::")
        && helper
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "+-._".contains(letter))
    {
        return Err(format!(
            "must not name a remote helper ({helper}::), which is a program; give an absolute path or a URL of {}",
            SCHEMES.join(", ")
        ));
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        return url(&scheme.to_ascii_lowercase(), rest);
    }
    match host_and_path(text) {
        Some((host, path)) if !host.contains('/') => like_scp(host, path),
        _ => Err(format!(
            "must be an absolute path or a URL, is {}; give an absolute path",
            excerpt(text)
        )),
    }
}

fn url(scheme: &str, rest: &str) -> Result<(), String> {
    if rest.contains(char::is_whitespace) || encodes_control(rest) {
        return Err("must not hold blanks or control characters".to_owned());
    }
    if scheme == "file" {
        return match rest.starts_with('/') {
            true => Ok(()),
            false => Err("must name no host: file:///absolute/path".to_owned()),
        };
    }
    if !SCHEMES.contains(&scheme) {
        return Err(format!(
            "must be an absolute path or a URL of file, {}, not of {}",
            SCHEMES.join(", "),
            excerpt(scheme)
        ));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", authority),
    };
    if user.contains(':') || user.contains("%3a") || user.contains("%3A") {
        return Err(PASSWORD.to_owned());
    }
    names(user, host)
}

/// The colon that ends a host is not one of those in an address of its own.
fn host_and_path(text: &str) -> Option<(&str, &str)> {
    let bracketed = text.find("]:").filter(|end| text[..*end].contains('['));
    match bracketed {
        Some(end) => Some((&text[..=end], &text[end + 2..])),
        None => text.split_once(':'),
    }
}

/// `user@host:path`.
fn like_scp(authority: &str, path: &str) -> Result<(), String> {
    if path
        .split('/')
        .next()
        .is_some_and(|first| first.contains('@'))
    {
        return Err(PASSWORD.to_owned());
    }
    if path.is_empty() || path.starts_with('-') {
        return Err("must name a repository after the host: user@host:path".to_owned());
    }
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    names(user, host)
}

fn names(user: &str, host: &str) -> Result<(), String> {
    if TOKENS.iter().any(|token| user.starts_with(token)) {
        return Err(PASSWORD.to_owned());
    }
    let bare = host.trim_start_matches('[');
    if bare.is_empty() || bare.starts_with(['-', ':']) && !host.starts_with("[:") {
        return Err("must name a host".to_owned());
    }
    let odd = |letter: char| letter.is_whitespace() || "'\"\\$`;|&<>(){}!*".contains(letter);
    if user.starts_with('-') || user.contains(odd) || host.contains(odd) {
        return Err(
            "must name a user and a host without quotes, blanks or dashes before them".to_owned(),
        );
    }
    Ok(())
}

/// Git takes the percent signs of some URLs apart itself.
fn encodes_control(text: &str) -> bool {
    text.split('%').skip(1).any(|rest| {
        let byte = rest
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        byte.is_some_and(|byte| byte < 0x20 || byte == 0x7f)
    })
}

/// Whether this may name a branch, a tag or a commit, by the rules of `git check-ref-format`. The error is the rest of a sentence about the key.
pub fn check_reference(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("must not be blank".to_owned());
    }
    if text.starts_with('-') {
        return Err(format!("must not start with '-', is {}", excerpt(text)));
    }
    if text.chars().count() > MAX_REFERENCE_CHARS {
        return Err(format!(
            "must have at most {MAX_REFERENCE_CHARS} characters"
        ));
    }
    let forbidden =
        |letter: char| letter.is_control() || letter.is_whitespace() || "~^:?*[\\".contains(letter);
    let part_fits =
        |part: &str| !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with(".lock");
    let fits = !text.contains(forbidden)
        && !text.contains("..")
        && !text.contains("@{")
        && !text.ends_with('.')
        && text != "@"
        && text.split('/').all(part_fits);
    match fits {
        true => Ok(()),
        false => Err(format!(
            "must be the name of a branch or a tag, or a commit id, is {}",
            excerpt(text)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources() {
        for (text, expected) in [
            ("/srv/repo", Source::Path("/srv/repo".into())),
            ("/srv/repo/", Source::Path("/srv/repo".into())),
            ("/srv/a b::c", Source::Path("/srv/a b::c".into())),
            ("/", Source::Path("/".into())),
        ] {
            assert_eq!(Source::read(text), Ok(expected), "{text}");
        }
        for text in [
            "file:///srv/repo",
            "https://example.org/a/b.git",
            "HTTPS://example.org/a",
            "https://me@example.org/a",
            "http://127.0.0.1:8080/a",
            "ssh://git@example.org:2222/a",
            "ssh://[::1]/a",
            "git://example.org/a",
            "git@example.org:a/b.git",
            "example.org:a",
            "me@[::1]:a",
        ] {
            assert_eq!(
                Source::read(text),
                Ok(Source::Url(text.to_owned())),
                "{text}"
            );
        }
    }

    #[test]
    fn sources_that_are_refused() {
        for (text, why) in [
            ("", "blank"),
            (" ", "blank"),
            ("-x", "start with '-'"),
            ("--upload-pack=touch /tmp/x", "start with '-'"),
            ("ext::sh -c touch% /tmp/x", "remote helper"),
            ("fd::3", "remote helper"),
            ("file::/srv/x", "remote helper"),
            ("/srv/a\nb", "control"),
            ("https://example.org/a%0ab", "control"),
            ("../repo", "give an absolute path"),
            ("repo", "give an absolute path"),
            ("~/repo", "give an absolute path"),
            ("./a:b", "give an absolute path"),
            ("file://host/a", "no host"),
            ("ftp://example.org/a", "not of \"ftp\""),
            ("https://", "a host"),
            ("https:///a", "a host"),
            ("ssh://-oProxyCommand=x/a", "a host"),
            ("ssh://-l@example.org/a", "dashes"),
            ("-oProxyCommand=x:a", "start with '-'"),
            ("me@-oProxyCommand=x:a", "a host"),
            ("ssh://a$(b)/c", "quotes"),
            ("git@example.org:", "after the host"),
            ("git@example.org:--upload-pack=x", "after the host"),
            ("https://me:secret@example.org/a", "password"),
            ("https://:secret@example.org/a", "password"),
            ("https://ghp_0123@example.org/a", "password"),
            ("ssh://me%3Asecret@example.org/a", "password"),
            ("me:secret@example.org:a", "password"),
        ] {
            let refused = Source::read(text).unwrap_err();
            assert!(refused.contains(why), "{text:?}: {refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn paths_are_seen_from_where_they_were_written() {
        for (text, expected) in [
            ("../repo", "/home/me/repo"),
            ("repo", "/home/me/work/repo"),
            ("./a/./b/", "/home/me/work/a/b"),
            ("../../../../../x", "/x"),
            ("/srv/repo", "/srv/repo"),
            ("https://example.org/a", "https://example.org/a"),
            ("git@example.org:a", "git@example.org:a"),
        ] {
            let seen = seen_from(Path::new("/home/me/work"), text);
            assert_eq!(seen, expected, "{text}");
            assert_eq!(check_location(text), Ok(()), "{text}");
        }
        for wrong in ["", "--upload-pack=x", "ext::sh -c x", "~/repo", "a\nb"] {
            assert!(check_location(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_same_place() {
        for (one, other, same) in [
            ("/srv/a", "/srv/a", true),
            ("/srv/a", "file:///srv/a/", true),
            ("/srv/a", "/srv/b", false),
            ("https://example.org/a/", "https://example.org/a", true),
        ] {
            assert_eq!(Source::read(one).unwrap().is(other), same, "{one} {other}");
        }
    }

    #[test]
    fn references() {
        for good in [
            "main",
            "HEAD",
            "v1.0",
            "feature/a-b",
            "refs/heads/main",
            "0123456789abcdef0123456789abcdef01234567",
            "größe",
            "a@b",
        ] {
            assert_eq!(check_reference(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            " ",
            "-b",
            "--upload-pack=x",
            "a/-b",
            "a..b",
            "a^",
            "a~1",
            "a:b",
            "@",
            "a@{1}",
            "a b",
            "a\nb",
            "a.lock",
            "a.lock/b",
            ".a",
            "a/.b",
            "a.",
            "/a",
            "a/",
            "a//b",
            "a*",
            "a?",
            "a[",
            "a\\b",
        ] {
            assert!(check_reference(bad).is_err(), "{bad:?}");
        }
    }
}
