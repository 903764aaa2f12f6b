//! Chromium at the dashboard of a site, where it is installed (`.ci/run` says how): plays a scenario of `tests/browser`, which must say
//! that all of it holds. Pictures of what it saw are left in `target/screenshots`.

use crate::support::{Ran, Site};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;

const PLAY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/run.mjs");
const PICTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/screenshots");
const PACKAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tools/node_modules");
/// The first one that playwright-core runs on.
const NODE: u32 = 20;

/// All that is needed is there.
pub struct Browser {
    chromium: PathBuf,
}

/// The browser, or nothing where something is missing. That is said past the harness, which would show it for failed tests only.
pub fn browser() -> Option<Browser> {
    match find() {
        Ok(chromium) => Some(Browser { chromium }),
        Err(missing) => {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: the dashboard in a browser: {missing}"
            );
            None
        }
    }
}

fn find() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|place| place.join("chromium"));
    let chromium = places.find(|program| program.exists());
    let chromium = chromium.ok_or("there is no chromium; install Debian's package of that name")?;
    let version = Command::new("node").arg("--version").output();
    let version = version.map_err(|_| "there is no node")?.stdout;
    let version = String::from_utf8_lossy(&version).into_owned();
    let major = version.trim_start_matches('v').split('.').next();
    if major.and_then(|major| major.parse().ok()) < Some(NODE) {
        return Err(format!("node is older than {NODE}: {}", version.trim()));
    }
    for package in ["playwright-core", "axe-core"] {
        if !Path::new(PACKAGES).join(package).exists() {
            return Err(format!(
                "there is no {package}; run tests/tools/install browser"
            ));
        }
    }
    Ok(chromium)
}

impl Browser {
    /// Plays a scenario at the site's daemon; `given` is what it needs to know.
    pub fn play(&self, scenario: &str, site: &Site, given: &[(&str, &str)]) {
        let mut address = site.http().address;
        address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let mut command = Command::new("node");
        command
            .arg(PLAY)
            .arg(scenario)
            .arg(format!("http://{address}"));
        command.arg(PICTURES).env("CHROMIUM", &self.chromium);
        command.arg(format!("site={}", site.root().display()));
        command.args(given.iter().map(|(name, value)| format!("{name}={value}")));
        let ran = Ran::of(command);
        assert_eq!(
            ran.code,
            Some(0),
            "{scenario}\n{}\n{}",
            ran.stdout,
            ran.stderr
        );
    }
}
