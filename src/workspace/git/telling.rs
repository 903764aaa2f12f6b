//! Names of files that usually hold secrets. Pure: names in, yes or no out. It must not judge a file that a repository holds already.

use std::path::Path;

/// Whole names, in small letters.
const NAMES: &[&str] = &[
    ".dockercfg",
    ".env",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".netrc",
    ".pgpass",
    ".pypirc",
    ".vault-token",
    "_netrc",
    "accesstokens.json",
    "application_default_credentials.json",
    "credentials.json",
    "credentials.tfrc.json",
    "service-account.json",
    "service_account.json",
];
const ENDINGS: &[&str] = &[
    ".jks",
    ".kdbx",
    ".key",
    ".keystore",
    ".p12",
    ".pem",
    ".pfx",
    ".ppk",
];
/// Keys of ssh, also with a word behind; what ends in `.pub` may be seen by all.
const BEGINNINGS: &[&str] = &["id_dsa", "id_ecdsa", "id_ed25519", "id_rsa"];
/// The files of clouds and the like, by the directory that they are in.
const PLACES: &[(&str, &str)] = &[
    (".aws", "credentials"),
    (".cargo", "credentials.toml"),
    (".docker", "config.json"),
    (".gem", "credentials"),
    (".kube", "config"),
];
/// An `.env` that is there to be copied.
const PATTERNS_OF_ENV: &[&str] = &["dist", "example", "sample", "template"];

/// Whether a file of this name is likely to hold a secret.
pub fn is_telling(path: &Path) -> bool {
    let part = |path: Option<&Path>| {
        path.and_then(Path::file_name)
            .map(|name| name.to_string_lossy().to_ascii_lowercase())
            .unwrap_or_default()
    };
    let (name, directory) = (part(Some(path)), part(path.parent()));
    if let Some(kind) = name.strip_prefix(".env.") {
        let last = kind.rsplit('.').next().unwrap_or_default();
        return !PATTERNS_OF_ENV.contains(&last);
    }
    NAMES.contains(&name.as_str())
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || (BEGINNINGS.iter().any(|start| name.starts_with(start)) && !name.ends_with(".pub"))
        || PLACES.contains(&(directory.as_str(), name.as_str()))
}

/// Whether a file of this name holds a secret if it says so: a token for a registry of packages.
pub fn may_hold_token(path: &Path) -> bool {
    path.file_name().is_some_and(|name| {
        [".npmrc", ".yarnrc", ".yarnrc.yml"]
            .iter()
            .any(|other| name == *other)
    })
}

/// Whether such a file does.
pub fn holds_token(text: &[u8]) -> bool {
    ["_authToken", "_auth=", "_password", "npmAuthToken"]
        .iter()
        .any(|word| memchr::memmem::find(text, word.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (path, telling) in [
            (".env", true),
            ("app/.env", true),
            (".env.production", true),
            (".env.example", false),
            (".env.local.sample", false),
            (".envrc", false),
            ("env", false),
            ("cert/server.PEM", true),
            ("server.key", true),
            ("keys.rs", false),
            ("id_rsa", true),
            ("id_ed25519_work", true),
            ("id_rsa.pub", false),
            (".netrc", true),
            (".aws/credentials", true),
            ("credentials", false),
            ("gcp/credentials.json", true),
            (".npmrc", false),
        ] {
            assert_eq!(is_telling(Path::new(path)), telling, "{path}");
        }
    }

    #[test]
    fn tokens() {
        assert!(may_hold_token(Path::new("web/.npmrc")));
        assert!(holds_token(b"//registry.npmjs.org/:_authToken=npm_x"));
        assert!(!holds_token(b"save-exact=true"));
    }
}
