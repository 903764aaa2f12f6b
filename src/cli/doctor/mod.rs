//! `ralphd doctor`: is everything in place? It looks and advises; it repairs nothing and takes no lock.
//! `agents` looks at the agents for nothing, `tryout` lets each take a turn.

mod agents;
mod tryout;

use super::arguments::Doctor;
use super::desk::Desk;
use super::exit::Exit;
use super::output::{self, Look, Style, harmless};
use crate::clock::now_ms;
use crate::daemon::{self, LOCK_FILE};
use crate::process::{self, Errand, capture};
use crate::queue::identity;
use crate::report::notify;
use crate::store::workers::{self, Role, Worker};
use crate::store::{DATABASE_FILE, Store, health};
use anyhow::Result;
use rustix::process::{Pid, PidfdFlags};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// The file that a running daemon locks, and writes its process id into.
const LOW_SPACE_BYTES: u64 = 1 << 30;
const LOW_INODES: u64 = 10_000;
const MAX_WORKERS: u32 = 64;
const PROBE_DEADLINE: Duration = Duration::from_secs(5);
const PROBE_CAP_BYTES: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Ok,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(serde::Serialize)]
struct Check {
    name: String,
    level: Level,
    detail: String,
}

/// Looks at everything and prints what it found.
pub fn doctor(desk: Desk, wanted: &Doctor) -> Result<Exit> {
    let mut checks = vec![configuration(&desk), state(&desk.state)];
    checks.extend(space(&desk.state));
    checks.extend(desk.block_on(async {
        let mut found = database(&desk).await;
        found.extend(each_agent(&desk, wanted).await?);
        found.push(probe("sh", &["sh", "-c", "echo it works"], Level::Fail).await);
        found.push(probe("git", &["git", "--version"], Level::Warn).await);
        Ok(found)
    })?);
    checks.extend(told(&desk));
    checks.extend([pidfd(), cgroup()]);
    // What programs say of themselves is shown here.
    let mask = desk.secrets.mask();
    for check in &mut checks {
        check.detail = mask.text(&check.detail).into_owned();
    }
    match desk.global.json {
        true => output::print_json(&checks)?,
        false => output::print_lines(&lines(&checks, &Look::of_stdout(), desk.global.quiet))?,
    }
    match checks.iter().any(|check| check.level == Level::Fail) {
        true => Ok(Exit::Failed),
        false => Ok(Exit::Done),
    }
}

fn lines(checks: &[Check], look: &Look, quiet: bool) -> Vec<String> {
    let shown = checks
        .iter()
        .filter(|check| !quiet || check.level != Level::Ok);
    shown
        .map(|check| {
            let (word, style) = match check.level {
                Level::Ok => ("ok  ", Style::Good),
                Level::Warn => ("warn", Style::Notice),
                Level::Fail => ("FAIL", Style::Bad),
            };
            let name = harmless(&check.name);
            format!(
                "{}  {name:<16}  {}",
                look.paint(style, word),
                harmless(&check.detail)
            )
        })
        .collect()
}

fn check(name: &str, level: Level, detail: impl Into<String>) -> Check {
    Check {
        name: name.to_owned(),
        level,
        detail: detail.into(),
    }
}

/// Whether those could be told who may have to be.
fn told(desk: &Desk) -> Vec<Check> {
    let found = notify::problems(&desk.config, &desk.secrets).into_iter();
    found
        .map(|(section, problem)| match problem {
            Some(problem) => check(&section, Level::Fail, problem),
            None => check(&section, Level::Ok, "its address and secrets are in place"),
        })
        .collect()
}

/// A wrong configuration never comes this far: it ends the program with its own message.
fn configuration(desk: &Desk) -> Check {
    let detail = match &desk.config_file {
        Some(file) => file.display().to_string(),
        None => "no file, built-in defaults; 'ralphd init' writes one".to_owned(),
    };
    check("configuration", Level::Ok, detail)
}

fn state(directory: &Path) -> Check {
    let name = "state directory";
    let shown = directory.display();
    let Ok(facts) = std::fs::metadata(directory) else {
        return check(
            name,
            Level::Warn,
            format!("{shown} is not there yet; 'ralphd serve' makes it"),
        );
    };
    let mode = facts.permissions().mode() & 0o777;
    let writable = rustix::fs::access(
        directory,
        rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK,
    );
    if !facts.is_dir() {
        check(
            name,
            Level::Fail,
            format!("{shown} is not a directory; move it away or give --state"),
        )
    } else if writable.is_err() {
        let owner = facts.uid();
        check(
            name,
            Level::Fail,
            format!("{shown} cannot be written by this user; it belongs to user {owner}"),
        )
    } else if mode & 0o077 != 0 {
        check(
            name,
            Level::Warn,
            format!("{shown} is open to others (mode {mode:o}): chmod 700 {shown}"),
        )
    } else {
        check(
            name,
            Level::Ok,
            format!("{shown}, writable, its owner's alone"),
        )
    }
}

/// Room on the disk of the state directory, or of the nearest directory above that exists.
fn space(directory: &Path) -> Vec<Check> {
    let existing = directory
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(directory);
    let facts = match rustix::fs::statvfs(existing) {
        Ok(facts) => facts,
        Err(error) => {
            return vec![check(
                "disk space",
                Level::Warn,
                format!("cannot be asked for: {error}"),
            )];
        }
    };
    let bytes = facts.f_bavail.saturating_mul(facts.f_frsize);
    let mut checks = vec![match bytes < LOW_SPACE_BYTES {
        true => check(
            "disk space",
            Level::Warn,
            format!("only {} free; make room", output::size(bytes)),
        ),
        false => check(
            "disk space",
            Level::Ok,
            format!("{} free", output::size(bytes)),
        ),
    }];
    // Some file systems have no fixed number of them, and say zero.
    if facts.f_files > 0 {
        checks.push(match facts.f_favail < LOW_INODES {
            true => check(
                "inodes",
                Level::Warn,
                format!("only {} free; remove files", facts.f_favail),
            ),
            false => check("inodes", Level::Ok, format!("{} free", facts.f_favail)),
        });
    }
    checks
}

async fn database(desk: &Desk) -> Vec<Check> {
    let path = desk.state.join(DATABASE_FILE);
    if !path.exists() {
        let detail = format!(
            "{} is not there yet; 'ralphd serve' makes it",
            path.display()
        );
        return vec![check("database", Level::Warn, detail), no_daemon()];
    }
    match Store::open_as_is(&desk.state) {
        Ok(store) => vec![integrity(&store).await, daemon(&desk.state, &store).await],
        Err(error) => vec![check("database", Level::Fail, format!("{error:#}"))],
    }
}

async fn integrity(store: &Store) -> Check {
    let found = store
        .read(|sql| Ok((health::schema_version(sql)?, health::quick_check(sql)?)))
        .await;
    match found {
        Ok((version, problems)) => match problems.first() {
            None => check("database", Level::Ok, format!("schema {version}, sound")),
            Some(first) => {
                let advice = "see 'ralphd db check'; restore a backup";
                check(
                    "database",
                    Level::Fail,
                    format!("{} problems, the first: {first}; {advice}", problems.len()),
                )
            }
        },
        Err(error) => check(
            "database",
            Level::Fail,
            format!("cannot be checked: {error:#}"),
        ),
    }
}

async fn daemon(state: &Path, store: &Store) -> Check {
    let workers = store
        .read(|sql| workers::unstopped(sql, MAX_WORKERS))
        .await
        .unwrap_or_default();
    let lives =
        |worker: &&Worker| worker.role == Role::Serve && identity::is_alive(worker) == Some(true);
    let Some(worker) = workers.iter().find(lives) else {
        return match daemon::running_pid(state) {
            Some(pid) => check("daemon", Level::Warn, format!("process {pid} is starting")),
            None => no_daemon(),
        };
    };
    let since = output::duration(now_ms() - worker.started_at_ms);
    match daemon::running_pid(state).map(i64::from) == Some(worker.pid) {
        true => check(
            "daemon",
            Level::Ok,
            format!("running as process {}, for {since}", worker.pid),
        ),
        false => check(
            "daemon",
            Level::Warn,
            format!("process {} runs but does not hold {LOCK_FILE}", worker.pid),
        ),
    }
}

fn no_daemon() -> Check {
    check(
        "daemon",
        Level::Warn,
        "no daemon is running: start it with 'ralphd serve'",
    )
}

/// Each agent as far as it can be seen for nothing, and by a turn of its own where that is wanted.
async fn each_agent(desk: &Desk, wanted: &Doctor) -> Result<Vec<Check>> {
    let roster = match agents::roster(desk) {
        Ok(roster) => roster,
        Err(problem) => return Ok(vec![problem]),
    };
    let (mut checks, versions) = agents::programs(&roster).await;
    if wanted.try_agents {
        checks.extend(tryout::all(&roster, &versions, desk.global.quiet).await?);
    }
    Ok(checks)
}

async fn probe(name: &str, words: &[&str], when_missing: Level) -> Check {
    let argv: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    match capture(&Errand::new(argv, PROBE_DEADLINE, PROBE_CAP_BYTES)).await {
        Ok(found) if found.exit == process::Exit::Code(0) && !found.timed_out => check(
            name,
            Level::Ok,
            output::first_line(&String::from_utf8_lossy(&found.stdout)),
        ),
        _ => check(
            name,
            when_missing,
            format!("{name} does not work here; install it"),
        ),
    }
}

fn pidfd() -> Check {
    let own = Pid::from_raw(std::process::id().cast_signed());
    let opened = own.map(|own| rustix::process::pidfd_open(own, PidfdFlags::empty()));
    match opened {
        Some(Ok(_)) => check("pidfd", Level::Ok, "the kernel has it"),
        _ => check(
            "pidfd",
            Level::Fail,
            "the kernel has it not; Linux 5.3 or newer is needed",
        ),
    }
}

/// Of this very process; a daemon under systemd is in a group of its own.
fn cgroup() -> Check {
    match process::cgroup_delegated() {
        true => check("cgroup", Level::Ok, "delegated: a turn is ended as a whole"),
        false => check(
            "cgroup",
            Level::Ok,
            "not delegated here: the processes of a turn are found one by one",
        ),
    }
}
