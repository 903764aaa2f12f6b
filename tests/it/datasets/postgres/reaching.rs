//! Reaching a server, or not: logins, encryption, and no password in any word about it.

use super::super::{Place, rows};
use super::prepare;
use crate::support::postgres::{PASSWORD, Postgres};
use ralphd::dataset::{Datasets, Fault, ImportLimits, Source};
use serde_json::json;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

/// A port that nobody listens at.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn a_server_that_cannot_be_reached_is_told_without_its_password() {
    let place = Place::new();
    let port = free_port();
    for (address, fault, expected) in [
        (
            format!("postgres://me:{PASSWORD}@127.0.0.1:{port}/shop"),
            Fault::Other,
            "postgres://me@127.0.0.1/shop: cannot connect: ",
        ),
        (
            format!("postgres://me:{PASSWORD}@%2Fnowhere/shop"),
            Fault::Other,
            "postgres://me@/nowhere/shop: cannot connect: ",
        ),
        (
            format!("postgres://me:x@{PASSWORD}@127.0.0.1/shop"),
            Fault::Format,
            "the postgres:// address cannot be read; write postgres://",
        ),
        (
            format!("postgres://me:x@127.0.0.1/shop?{PASSWORD}=1"),
            Fault::Format,
            "the postgres:// address cannot be read; write postgres://",
        ),
        (
            format!(
                "postgres://me:{PASSWORD}@127.0.0.1/shop?sslmode=verify-full&sslrootcert=/nowhere"
            ),
            Fault::Format,
            "postgres://me@127.0.0.1/shop: sslrootcert /nowhere: ",
        ),
    ] {
        let trouble = prepare(&place, &address).unwrap_err();
        assert_eq!(trouble.fault, fault, "{trouble}");
        assert!(trouble.message.starts_with(expected), "{trouble}");
    }
    let sources = ["postgres://me:x@a/b", "postgres://me:x@c/d"]
        .map(|text| Source::parse(text, Path::new("/")));
    let trouble =
        Datasets::prepare(&place.workspace(), &sources, &ImportLimits::default()).unwrap_err();
    assert_eq!(
        trouble.message,
        "two postgres:// addresses; a session may have one"
    );
}

#[test]
fn a_login_that_is_refused_is_a_matter_of_permission() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let place = Place::new();
    let trouble = prepare(&place, &postgres.address_of("owner", "falsch")).unwrap_err();
    assert_eq!(trouble.fault, Fault::Permission);
    assert!(
        trouble
            .message
            .ends_with("cannot connect: password authentication failed for user \"owner\""),
        "{trouble}"
    );
    assert!(!trouble.message.contains("falsch"), "{trouble}");
}

/// Signs a certificate for `localhost`, whose key is `key.pem`, by an authority of its own.
const CERTIFY: &str = "set -e
    new='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
    openssl req -x509 $new -days 2 -subj /CN=authority -keyout authority-key.pem -out authority.pem
    openssl req $new -subj /CN=localhost -keyout key.pem -out request.pem
    echo 'subjectAltName=DNS:localhost' > names
    openssl x509 -req -in request.pem -CA authority.pem -CAkey authority-key.pem -CAcreateserial -days 2 -extfile names -out certificate.pem";

/// Not without openssl.
fn certify(directory: &Path) -> bool {
    let made = Command::new("sh")
        .args(["-c", CERTIFY])
        .current_dir(directory)
        .output();
    made.is_ok_and(|output| output.status.success())
}

#[test]
fn the_way_is_encrypted_as_the_address_asks() {
    let port = free_port();
    let mut certified = false;
    let postgres = Postgres::start_with(port, |directory| {
        certified = certify(directory);
        let file = |name: &str| directory.join(name).display().to_string();
        vec![
            "listen_addresses=localhost".to_owned(),
            format!("ssl={certified}"),
            format!("ssl_cert_file={}", file("certificate.pem")),
            format!("ssl_key_file={}", file("key.pem")),
        ]
    });
    let Some(postgres) = postgres else { return };
    if !certified {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: PostgreSQL with TLS: openssl makes no certificate"
        );
        return;
    }
    let place = Place::new();
    let address = |host: &str, options: &str| {
        format!("postgres://owner:{PASSWORD}@{host}:{port}/postgres?{options}")
    };
    let root = postgres
        .directory()
        .join("authority.pem")
        .display()
        .to_string()
        .replace('/', "%2F");
    let encrypted = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    for (host, options, expected) in [
        ("localhost", "sslmode=disable".to_owned(), Some(false)),
        ("localhost", String::new(), Some(true)),
        ("127.0.0.1", "sslmode=require".to_owned(), Some(true)),
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={root}"),
            Some(true),
        ),
        (
            "127.0.0.1",
            format!("sslmode=verify-full&sslrootcert={root}"),
            None,
        ),
        ("localhost", "sslmode=verify-full".to_owned(), None),
    ] {
        let datasets = prepare(&place, &address(host, &options));
        match (datasets, expected) {
            (Ok(datasets), Some(expected)) => {
                assert_eq!(rows(&datasets, encrypted), [[json!(expected)]], "{options}")
            }
            (Err(trouble), None) => assert_eq!(trouble.fault, Fault::Other, "{trouble}"),
            (Ok(_), None) => panic!("{host} {options}: an impostor was believed"),
            (Err(trouble), Some(_)) => panic!("{host} {options}: {trouble}"),
        }
    }
    let port = free_port();
    let plain = Postgres::start_with(port, |_| {
        vec![
            "listen_addresses=localhost".to_owned(),
            "ssl=off".to_owned(),
        ]
    });
    let address = format!("postgres://owner:{PASSWORD}@localhost:{port}/postgres?sslmode=require");
    let trouble = prepare(&place, &address).unwrap_err();
    assert!(
        trouble.message.contains("server does not support TLS"),
        "{trouble}"
    );
    drop(plain);
}
