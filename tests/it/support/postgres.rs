//! A real PostgreSQL server for one test: its own directory, a socket in it, gone with the test. As another user where the tests run
//! as root, whom PostgreSQL refuses.

use super::wait_for;
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Whom every system has, and who owns nothing.
const NOBODY: u32 = 65534;
/// The password of every server here: no text of ralphd's may have it.
pub const PASSWORD: &str = "geheim-9";
/// Settings that make a server quick and small.
const SETTINGS: [&str; 5] = [
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "shared_buffers=16MB",
    "log_min_messages=fatal",
];

/// A running server.
pub struct Postgres {
    directory: tempfile::TempDir,
    server: Child,
    port: u16,
}

impl Postgres {
    /// Starts one with a socket only; none, and says so, where PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        Self::start_with(5432, |_| vec!["listen_addresses=".to_owned()])
    }

    /// The same with more settings, made by one who sees the directory.
    pub fn start_with(port: u16, settings: impl FnOnce(&Path) -> Vec<String>) -> Option<Self> {
        let programs = installed()?;
        let directory = tempfile::Builder::new().prefix("pg").tempdir().unwrap();
        let path = directory.path();
        std::fs::write(path.join("password"), PASSWORD).unwrap();
        let mut more = settings(path);
        more.push(format!("unix_socket_directories={}", path.display()));
        more.push(format!("port={port}"));
        give_away(path);
        let initdb = as_another(&programs.join("initdb"))
            .args([
                "--username=owner",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",
            ])
            .arg(format!("--pwfile={}", path.join("password").display()))
            .args(["-D".as_ref(), path.join("cluster").as_os_str()])
            .output()
            .unwrap();
        assert!(
            initdb.status.success(),
            "{}",
            String::from_utf8_lossy(&initdb.stderr)
        );
        let mut command = as_another(&programs.join("postgres"));
        command.args(["-D".as_ref(), path.join("cluster").as_os_str()]);
        for setting in SETTINGS.iter().map(ToString::to_string).chain(more) {
            command.args(["-c", &setting]);
        }
        let server = command.stdout(Stdio::null()).spawn().unwrap();
        let postgres = Self {
            directory,
            server,
            port,
        };
        wait_for("PostgreSQL takes connections", || {
            postgres.try_run("SELECT 1").ok()
        });
        Some(postgres)
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The address of its superuser, by the socket.
    pub fn address(&self) -> String {
        self.address_of("owner", PASSWORD)
    }

    pub fn address_of(&self, user: &str, password: &str) -> String {
        let host = self.directory().display().to_string().replace('/', "%2F");
        format!("postgres://{user}:{password}@{host}:{}/postgres", self.port)
    }

    /// Runs statements, and gives the first column of all rows.
    pub fn run(&self, sql: &str) -> Vec<String> {
        self.try_run(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    fn try_run(&self, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(&self.address(), tokio_postgres::NoTls).await?;
            tokio::spawn(connection);
            let answers = client.simple_query(sql).await?;
            Ok(answers.iter().filter_map(first_column).collect())
        })
    }
}

fn first_column(answer: &tokio_postgres::SimpleQueryMessage) -> Option<String> {
    match answer {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The fast way down: sessions are ended, and no process is left behind.
        let _ = kill_process(Pid::from_child(&self.server), Signal::INT);
        let _ = self.server.wait();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn as_another(program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn give_away(path: &Path) {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        for entry in std::fs::read_dir(path).unwrap().flatten() {
            chown(entry.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
}

/// Where the server's programs are: on `PATH`, or where Debian puts them, the newest first. Says so, past the harness, if nowhere.
fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    versions.sort();
    places.extend(versions.into_iter().rev());
    let whole = |place: &PathBuf| {
        ["initdb", "postgres"]
            .iter()
            .all(|name| place.join(name).is_file())
    };
    let found = places.into_iter().find(whole);
    if found.is_none() {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: PostgreSQL: there is no initdb on PATH or below /usr/lib/postgresql; install the package postgresql"
        );
    }
    found
}
