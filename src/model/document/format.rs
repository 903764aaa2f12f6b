//! The named formats of text values, as `format` in a JSON Schema names them. Each says what it wants
//! instead; none looks anything up outside the text.

use jiff::Timestamp;

use super::excerpt;
use crate::model::cron::Expression;
use crate::model::git;
use crate::model::period::Period;
use crate::model::window::Window;

/// The longest name of a session, an agent, a workflow or a notification.
const NAME_CHARACTERS: usize = 100;

type Test = fn(&str) -> Result<(), String>;

/// Every format that a schema of ralphd may name.
const FORMATS: [(&str, Test); 22] = [
    ("text", text),
    ("line", line),
    ("argument", argument),
    ("path", text),
    ("key-file", text),
    ("name", name),
    ("env-name", env_name),
    ("input-name", input_name),
    ("label-name", label_name),
    ("glob", glob),
    ("git-location", git_location),
    ("git-reference", git_reference),
    ("git-setting", git_setting),
    ("author", author),
    ("model", without_dash),
    ("http-url", http_url),
    ("period", period),
    ("positive-period", positive_period),
    ("date-time", date_time),
    ("window", window),
    ("listen", listen),
    ("cron", cron),
];

/// Compares `text` with a format; the error is the rest of a sentence about the key. A format that is not
/// of this table says nothing, as JSON Schema has it.
pub fn check(format: &str, text: &str) -> Result<(), String> {
    match FORMATS.iter().find(|(known, _)| *known == format) {
        Some((_, test)) => test(text),
        None => Ok(()),
    }
}

/// Whether a format is one that is checked.
pub fn is_known(format: &str) -> bool {
    FORMATS.iter().any(|(known, _)| *known == format)
}

/// A name that is safe as a single component of a path.
pub fn name(text: &str) -> Result<(), String> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let safe = !text.is_empty() && text.chars().all(allowed) && !text.starts_with(['.', '-']);
    if !safe {
        return Err(format!(
            "must be a name of letters, digits, '.', '_' and '-' that starts with a letter, a digit or '_', is {}",
            excerpt(text)
        ));
    }
    if text.len() > NAME_CHARACTERS {
        let length = text.len();
        return Err(format!(
            "must have at most {NAME_CHARACTERS} characters, has {length}"
        ));
    }
    Ok(())
}

fn git_location(text: &str) -> Result<(), String> {
    git::check_location(text)
}

fn git_reference(text: &str) -> Result<(), String> {
    git::check_reference(text)
}

fn git_setting(text: &str) -> Result<(), String> {
    match text.split_once('.') {
        Some((section, key)) if !section.is_empty() && !key.is_empty() => line(text),
        _ => Err(format!(
            "must be the name of a setting of git such as credential.helper, is {}",
            excerpt(text)
        )),
    }
}

fn author(text: &str) -> Result<(), String> {
    match git::Author::parse(text) {
        Some(_) => Ok(()),
        None => Err(format!(
            "must be of the form 'Name <address>', is {}",
            excerpt(text)
        )),
    }
}

fn window(text: &str) -> Result<(), String> {
    text.parse::<Window>().map(|_| ())
}

fn listen(text: &str) -> Result<(), String> {
    if text == "off" || text.parse::<std::net::SocketAddr>().is_ok() {
        return Ok(());
    }
    Err(format!(
        "must be an IP address and a port such as 127.0.0.1:7717 or [::1]:7717, or \"off\", is {}",
        excerpt(text)
    ))
}

fn cron(text: &str) -> Result<(), String> {
    let read = text.parse::<Expression>();
    read.map(|_| ()).map_err(|error| error.to_string())
}

fn argument(text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err("must not contain a NUL character".to_owned());
    }
    Ok(())
}

fn text(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("must not be blank".to_owned());
    }
    argument(text)
}

fn line(line: &str) -> Result<(), String> {
    text(line)?;
    if line.contains(['\n', '\r']) {
        return Err("must be a single line".to_owned());
    }
    Ok(())
}

fn label_name(label: &str) -> Result<(), String> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "._-/".contains(letter);
    let first_fits = label.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    if !first_fits || !label.chars().all(allowed) || label.len() > NAME_CHARACTERS {
        return Err(format!(
            "a label's name has at most {NAME_CHARACTERS} letters, digits, '.', '_', '-' and '/', and starts with a letter or digit"
        ));
    }
    Ok(())
}

fn env_name(name: &str) -> Result<(), String> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let starts_with_digit = name.starts_with(|letter: char| letter.is_ascii_digit());
    if name.is_empty() || starts_with_digit || !name.chars().all(allowed) {
        return Err(format!(
            "must be the name of an environment variable (letters, digits and '_', no value), is {}",
            excerpt(name)
        ));
    }
    Ok(())
}

/// It becomes a part of the name of an environment variable, so that upper and lower case would be the same.
fn input_name(name: &str) -> Result<(), String> {
    let allowed =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let first_fits = name.starts_with(|letter: char| letter.is_ascii_lowercase());
    if !first_fits || !name.chars().all(allowed) || name.len() > NAME_CHARACTERS {
        return Err(format!(
            "an input's name has at most {NAME_CHARACTERS} small letters, digits and '_', and starts with a letter"
        ));
    }
    Ok(())
}

fn glob(glob: &str) -> Result<(), String> {
    line(glob)?;
    match globset::Glob::new(glob) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "must be a glob: {}: {}",
            excerpt(glob),
            error.kind()
        )),
    }
}

/// A leading dash would be an option to git, or to an agent's tool.
fn without_dash(word: &str) -> Result<(), String> {
    line(word)?;
    if word.starts_with('-') {
        return Err(format!("must not start with '-', is {}", excerpt(word)));
    }
    Ok(())
}

fn http_url(url: &str) -> Result<(), String> {
    let after_scheme = ["http://", "https://"]
        .iter()
        .find_map(|scheme| {
            url.get(..scheme.len())
                .filter(|start| start.eq_ignore_ascii_case(scheme))
        })
        .map(|scheme| &url[scheme.len()..]);
    let host = after_scheme.and_then(|rest| rest.split(['/', '?', '#']).next());
    let fits = host.is_some_and(|host| !host.is_empty() && !host.starts_with(':'));
    if !fits
        || url
            .chars()
            .any(|letter| letter.is_whitespace() || letter.is_control())
    {
        return Err(format!(
            "must be an http:// or https:// address, is {}",
            excerpt(url)
        ));
    }
    Ok(())
}

fn period(text: &str) -> Result<(), String> {
    match text.parse::<Period>() {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

fn positive_period(text: &str) -> Result<(), String> {
    match text.parse::<Period>() {
        Ok(period) if period.is_zero() => {
            Err(format!("must be more than 0s, is {}", excerpt(text)))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

fn date_time(text: &str) -> Result<(), String> {
    match text.parse::<Timestamp>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!(
            "must be a time with its offset such as 2026-11-20T02:00:00Z, is {}",
            excerpt(text)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_and_refuse() {
        let long = "a".repeat(101);
        for (format, accepted, refused) in [
            ("text", vec!["a", " a\nb "], vec!["", " \n\t", "a\0"]),
            (
                "line",
                vec!["ALL GREEN"],
                vec!["", " ", "a\nb", "a\rb", "a\0"],
            ),
            ("argument", vec!["", "-x", "a\nb"], vec!["a\0"]),
            (
                "name",
                vec!["a", "A-1_b.c", "_x"],
                vec!["", ".", "..", ".a", "-a", "a/b", "é", "a b", &long],
            ),
            (
                "env-name",
                vec!["A", "_a1"],
                vec!["", "1A", "A=b", "A B", "É"],
            ),
            (
                "input-name",
                vec!["region", "a_1"],
                vec!["", "A", "1a", "_a", "a-b", "é", &long],
            ),
            (
                "label-name",
                vec!["team", "a/b.c"],
                vec!["", " ", "a b", "/a", &long],
            ),
            (
                "listen",
                vec!["127.0.0.1:7717", "[::]:80", "0.0.0.0:0", "off"],
                vec!["", "7717", "localhost:7717", "127.0.0.1", "on"],
            ),
            ("glob", vec!["tests/**", "*.{rs,toml}"], vec!["", "[", "{a"]),
            (
                "git-location",
                vec!["../myrepo", "/srv/repo", "https://example.org/a"],
                vec!["", "--upload-pack=x", "a\nb", "ext::sh"],
            ),
            (
                "git-reference",
                vec!["main", "v1.0"],
                vec!["", "--upload-pack=x", "a..b"],
            ),
            (
                "git-setting",
                vec!["credential.helper"],
                vec!["", "credential"],
            ),
            ("author", vec!["A <a@b>"], vec!["", "A"]),
            (
                "http-url",
                vec!["http://127.0.0.1:9000/done", "HTTPS://a"],
                vec![
                    "",
                    "http://",
                    "http:///x",
                    "ftp://a",
                    "http://a b",
                    "http://:80",
                    "é",
                ],
            ),
            ("period", vec!["0s", "1h30m"], vec!["", "5"]),
            ("positive-period", vec!["1ms"], vec!["0s", "5"]),
            (
                "date-time",
                vec!["2026-11-20T02:00:00Z", "2026-11-20T02:00:00+01:00"],
                vec!["", "2026-11-20", "2026-11-20T02:00:00", "soon"],
            ),
            ("cron", vec!["0 3 * * *", "@daily"], vec!["", "0 3 * *"]),
        ] {
            assert!(is_known(format));
            for text in accepted {
                assert_eq!(check(format, text), Ok(()), "{format}: {text:?}");
            }
            for text in refused {
                assert!(check(format, text).is_err(), "{format}: {text:?}");
            }
        }
    }
}
