//! The address of a server: read, and shown without what is secret in it. It holds a password; no text made here does.

use super::tls::Trust;
use crate::dataset::trouble::Trouble;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// Time to reach one host, unless the address says otherwise.
const CONNECT: Duration = Duration::from_secs(10);
const PROGRAM: &str = "ralphd";
/// What an error says; the address itself may hold a misplaced piece of the password.
const UNREADABLE: &str = "the postgres:// address cannot be read; write postgres://USER:PASSWORD@HOST/DATABASE with signs such as @ / ? % in the password as %40 %2F %3F %25; \
    options behind ? may be host, port, user, password, dbname, connect_timeout, application_name, options, sslmode, sslrootcert";

/// Where the password is where the address has none, as PostgreSQL's own programs have it.
pub const PASSWORD: &str = "PGPASSWORD";

/// Whether an address holds a password itself.
pub fn has_password(text: &str) -> bool {
    match TlsOptions::take(text).and_then(|(rest, _)| rest.parse::<Config>().ok()) {
        Some(config) => config.get_password().is_some(),
        // What cannot be read may hold anything.
        None => text.contains('@'),
    }
}

/// Where a server is and how to log in.
#[derive(Clone)]
pub struct Address {
    pub config: Config,
    pub trust: Trust,
    /// `postgres://user@host/database`
    pub shown: String,
    /// The database's name.
    pub database: String,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.shown)
    }
}

impl Address {
    /// Reads an address as a request gives it.
    pub fn read(text: &str) -> Result<Self, Trouble> {
        let unreadable = || Trouble::format(UNREADABLE);
        // A second @ is one of the password's: what stands behind the first would be shown as the host.
        if text.matches('@').count() > 1 {
            return Err(unreadable());
        }
        let (rest, options) = TlsOptions::take(text).ok_or_else(unreadable)?;
        let mut config: Config = rest.parse().map_err(|_| unreadable())?;
        if config.get_password().is_none()
            && let Ok(password) = std::env::var(PASSWORD)
        {
            config.password(password);
        }
        let (mode, trust) = options.decide(&config)?;
        config.ssl_mode(mode);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name(PROGRAM);
        }
        let user = config.get_user().unwrap_or_default();
        let database = config.get_dbname().unwrap_or(user).to_owned();
        let shown = shown(&config, &database);
        Ok(Self {
            config,
            trust,
            shown,
            database,
        })
    }
}

fn shown(config: &Config, database: &str) -> String {
    let host = |host: &Host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    };
    let hosts: Vec<String> = config.get_hosts().iter().map(host).collect();
    let user = config.get_user().map(|user| format!("{user}@"));
    let user = user.unwrap_or_default();
    format!("postgres://{user}{}/{database}", hosts.join(","))
}

/// The options that are ours to read, for the driver knows but half of their values.
#[derive(Default)]
struct TlsOptions {
    mode: Option<String>,
    roots: Option<PathBuf>,
}

impl TlsOptions {
    /// The address without them, and them.
    fn take(address: &str) -> Option<(String, Self)> {
        // A `?` before the `@` belongs to the password.
        let behind = address.find('@').unwrap_or(0);
        let Some(at) = address[behind..].find('?').map(|at| behind + at) else {
            return Some((address.to_owned(), Self::default()));
        };
        let mut own = Self::default();
        let mut others = Vec::new();
        for pair in address[at + 1..].split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=')? {
                ("sslmode", value) => own.mode = Some(value.to_owned()),
                ("sslrootcert", value) => own.roots = Some(decoded(value)?.into()),
                _ => others.push(pair),
            }
        }
        let rest = match others.is_empty() {
            true => address[..at].to_owned(),
            false => format!("{}?{}", &address[..at], others.join("&")),
        };
        Some((rest, own))
    }

    /// By the rules of libpq: nothing is asked of a socket in the file system, and a given root certificate is there to be used.
    fn decide(self, config: &Config) -> Result<(SslMode, Trust), Trouble> {
        let unix = |host: &Host| matches!(host, Host::Unix(_));
        let local = config.get_hosts().iter().all(unix);
        let whoever = match self.roots.clone() {
            None => Trust::Whoever,
            Some(roots) => Trust::Verified { roots: Some(roots) },
        };
        let verified = Trust::Verified { roots: self.roots };
        let decided = match self.mode.as_deref() {
            Some("disable") => (SslMode::Disable, Trust::Whoever),
            None | Some("prefer" | "allow") => (SslMode::Prefer, Trust::Whoever),
            Some("require") => (SslMode::Require, whoever),
            Some("verify-ca" | "verify-full") => (SslMode::Require, verified),
            Some(_) => {
                let known = "disable, prefer, require, verify-ca, verify-full";
                let message =
                    format!("the postgres:// address has an unknown sslmode; known: {known}");
                return Err(Trouble::format(message));
            }
        };
        Ok(match local {
            true => (SslMode::Disable, Trust::Whoever),
            false => decided,
        })
    }
}

/// `%2F` and the like.
fn decoded(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(piece.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_without_the_secret() {
        for (address, expected) in [
            ("postgres://me:secret@host/shop", "postgres://me@host/shop"),
            (
                "postgresql://me:secret@host:5433/shop",
                "postgres://me@host/shop",
            ),
            ("postgres://me:se%40cret@host", "postgres://me@host/me"),
            (
                "postgres://me:se/cr?et@host/shop",
                "postgres://me@host/shop",
            ),
            (
                "postgres://host/shop?user=me&password=secret",
                "postgres://me@host/shop",
            ),
            (
                "postgres://me:secret@%2Frun%2Fpg/shop",
                "postgres://me@/run/pg/shop",
            ),
            (
                "postgres://me:secret@a,b/shop?sslmode=require",
                "postgres://me@a,b/shop",
            ),
        ] {
            let read = Address::read(address).unwrap();
            assert_eq!(read.shown, expected, "{address}");
            assert_eq!(format!("{read:?}"), expected);
        }
        for address in [
            "postgres://me:se@cret@host/shop",
            "postgres://me:se@cret/x@host/shop",
            "postgres://me:secret",
            "postgres://me:x@host/shop?secret",
            "postgres://me:x@host/shop?secret=1",
            "postgres://me:x@host/shop?sslmode=secret",
            "postgres://me:x@host/shop?sslrootcert=%secret",
            "postgres://me:x@host:secret/shop",
        ] {
            let trouble = Address::read(address).unwrap_err();
            assert!(!trouble.message.contains("secret"), "{address}: {trouble}");
            assert!(!trouble.message.contains("cret"), "{address}: {trouble}");
        }
    }

    #[test]
    fn encrypted_as_asked() {
        let roots = || Some(PathBuf::from("/ca.pem"));
        for (options, mode, trust) in [
            ("", SslMode::Prefer, Trust::Whoever),
            ("?sslmode=disable", SslMode::Disable, Trust::Whoever),
            (
                "?sslmode=require&connect_timeout=3",
                SslMode::Require,
                Trust::Whoever,
            ),
            (
                "?sslmode=verify-full",
                SslMode::Require,
                Trust::Verified { roots: None },
            ),
            (
                "?connect_timeout=3&sslmode=require&sslrootcert=%2Fca.pem",
                SslMode::Require,
                Trust::Verified { roots: roots() },
            ),
        ] {
            let read = Address::read(&format!("postgres://me:x@host/shop{options}")).unwrap();
            assert_eq!(
                (read.config.get_ssl_mode(), read.trust),
                (mode, trust),
                "{options}"
            );
        }
        let local = Address::read("postgres://me@%2Frun/shop?sslmode=require").unwrap();
        assert_eq!(local.config.get_ssl_mode(), SslMode::Disable);
    }
}
