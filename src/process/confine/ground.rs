//! What programs need to run at all: the system's own files and the tool chains of the user. Keys and settings of the
//! user must not be among it.

use super::Ground;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/run/current-system",
    "/proc",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
    "/dev/random",
    "/dev/urandom",
];
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];
const SETTINGS: &str = "/etc";
/// More world-readable files than this are no settings.
const MAX_SETTINGS: usize = 20_000;
const MAX_DEPTH: usize = 8;

/// Beneath the home directory: what build tools bring along and fetch, without the files that hold their passwords
/// (`~/.cargo/credentials.toml`, `~/.npmrc`, `~/.m2/settings.xml`, `~/.gradle/gradle.properties` …).
const AT_HOME: &[&str] = &[
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    ".rustup",
    ".npm/_cacache",
    ".nvm",
    ".fnm",
    ".volta",
    ".bun/bin",
    ".bun/install",
    ".deno",
    ".asdf",
    ".sdkman",
    ".jdks",
    ".m2/repository",
    ".m2/wrapper",
    ".gradle/caches",
    ".gradle/wrapper",
    ".pyenv",
    ".rbenv",
    ".rvm",
    ".rye",
    ".ghcup",
    ".elan",
    ".opam",
    ".nix-profile",
    "go",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    // Without its settings git refuses to work at all. Its stored passwords lie elsewhere.
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
];
/// The same for a `CARGO_HOME` elsewhere.
const AT_CARGO: &[&str] = &["bin", "config", "config.toml", "env", "git", "registry"];

/// The system's programs, libraries and devices, and of `/etc` what everybody may read.
pub fn system_ground() -> Ground {
    let mut readable: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    let mut found = Vec::new();
    open_to_all(Path::new(SETTINGS), 0, &mut found);
    readable.append(&mut found);
    Ground {
        readable,
        writable: DEVICES.iter().map(PathBuf::from).collect(),
    }
}

/// Whether everybody may read all of this directory, never said of the uppermost; `found`: what needs a rule of its own.
fn open_to_all(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) -> bool {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return false;
    };
    if depth > MAX_DEPTH {
        return false;
    }
    let mut whole = depth > 0;
    let mut here = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(facts) = entry.metadata() else {
            whole = false;
            continue;
        };
        if facts.is_dir() {
            let mut below = Vec::new();
            if is_open(&facts, 0o005) && open_to_all(&path, depth + 1, &mut below) {
                here.push(path);
            } else {
                whole = false;
            }
            here.append(&mut below);
        } else if facts.is_symlink() {
            // Its target counts; a directory elsewhere is not `/etc`'s to give.
            let target = std::fs::metadata(&path);
            if target.is_ok_and(|target| target.is_file() && is_open(&target, 0o004)) {
                here.push(path);
            }
        } else if facts.is_file() && is_open(&facts, 0o004) {
            here.push(path);
        } else {
            whole = false;
        }
        if here.len() > MAX_SETTINGS {
            return false;
        }
    }
    let links = here.iter().filter(|path| path.is_symlink());
    if whole {
        found.extend(links.filter(|link| leads_away(link)).cloned());
    } else {
        found.append(&mut here);
    }
    whole
}

/// A rule for a directory does not cover what links in it name elsewhere.
fn leads_away(link: &Path) -> bool {
    let target = std::fs::canonicalize(link).unwrap_or_default();
    !["/usr", "/etc", "/proc"]
        .iter()
        .any(|known| target.starts_with(known))
}

fn is_open(facts: &Metadata, bits: u32) -> bool {
    facts.permissions().mode() & bits == bits
}

/// The tool chains that an environment names: its `PATH`, and what lies at home.
pub fn tool_ground(environment: &[(String, String)]) -> Vec<PathBuf> {
    let value = |name: &str| {
        let found = environment.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| value.starts_with('/'))
    };
    let home = value("HOME").map(Path::new);
    let mut found: Vec<PathBuf> = value("PATH")
        .unwrap_or_default()
        .split(':')
        .map(PathBuf::from)
        .filter(|directory| is_tools(directory, home))
        .collect();
    found.extend(AT_HOME.iter().filter_map(|name| Some(home?.join(name))));
    found.extend(value("RUSTUP_HOME").map(PathBuf::from));
    if let Some(cargo) = value("CARGO_HOME").map(Path::new) {
        found.extend(AT_CARGO.iter().map(|name| cargo.join(name)));
    }
    found
}

/// A directory of programs, not one that holds a whole home or a whole system.
fn is_tools(directory: &Path, home: Option<&Path>) -> bool {
    let Ok(real) = std::fs::canonicalize(directory) else {
        return false;
    };
    let holds_home = home
        .and_then(|home| std::fs::canonicalize(home).ok())
        .is_some_and(|home| home.starts_with(&real));
    let shared = std::fs::metadata(&real).is_ok_and(|facts| facts.mode() & 0o1000 != 0);
    directory.is_absolute() && real != Path::new("/") && !holds_home && !shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_settings_only_what_everybody_may_read() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for (name, mode) in [
            ("open/a", 0o644),
            ("open/deep/b", 0o644),
            ("mixed/c", 0o644),
            ("mixed/key", 0o600),
            ("closed/d", 0o644),
            ("shadow", 0o640),
            ("passwd", 0o644),
        ] {
            std::fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            std::fs::write(path(name), "x").unwrap();
            std::fs::set_permissions(path(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        for (name, mode) in [
            ("open", 0o755),
            ("open/deep", 0o755),
            ("mixed", 0o755),
            ("closed", 0o700),
        ] {
            std::fs::set_permissions(path(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        let mut found = Vec::new();
        assert!(!open_to_all(root.path(), 0, &mut found));
        found.sort();
        assert_eq!(found, ["mixed/c", "open", "passwd"].map(path));
    }

    #[test]
    fn a_home_on_the_path_is_no_tool_chain() {
        let home = tempfile::tempdir().unwrap();
        let place = |name: &str| home.path().join(name);
        std::fs::create_dir_all(place("tools")).unwrap();
        let path = format!(
            "{}:{}:/:relative:/tmp",
            home.path().display(),
            place("tools").display()
        );
        let found = tool_ground(&[
            ("HOME".to_owned(), home.path().display().to_string()),
            ("PATH".to_owned(), path),
        ]);
        assert!(found.contains(&place("tools")));
        assert!(found.contains(&place(".cargo/registry")));
        for never in ["/", "/tmp", "relative"] {
            assert!(!found.contains(&PathBuf::from(never)), "{never}");
        }
        assert!(!found.contains(&home.path().to_owned()));
    }
}
