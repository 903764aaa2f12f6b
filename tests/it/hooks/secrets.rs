//! The secrets of hooks: no daemon without them, changed while it runs, and never written down.

use super::*;
use crate::support::{Daemon, Ran};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn write(path: &Path, secret: &str, mode: u32) {
    std::fs::write(path, secret).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn hook(verify: &str, secret: &str) -> String {
    format!(
        "[hooks.h]\nverify = '{verify}'\n{secret}\nrequest = {{ objective = 'Look at {{{{ payload.text }}}}' }}\n"
    )
}

fn served(site: &Site) -> Ran {
    site.ralphd(&["serve"])
}

#[test]
fn no_daemon_without_a_secret() {
    for (verify, value, words) in [
        ("github", None, "is empty or not set"),
        ("bearer", Some(""), "is empty or not set"),
        ("github", Some(" \n"), "is empty"),
        ("bearer", Some("short"), "fewer than 8 characters"),
        (
            "standard",
            Some("whsec_not base64"),
            "is no secret of Standard Webhooks",
        ),
        ("standard", Some("whsec_AAAA"), "is too short"),
    ] {
        let site = Site::with_worker("echo").configure(&hook(verify, "secret_env = 'ISSUES'"));
        let site = match value {
            Some(value) => site.variable("ISSUES", value),
            None => site,
        };
        let ran = served(&site);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let expected = "hooks.h.secret_env: the variable ISSUES ";
        assert!(
            ran.stderr.contains(expected) && ran.stderr.contains(words),
            "{ran:?}"
        );
    }
    for (content, mode, words) in [
        (None, 0, "it is not there"),
        (Some(""), 0o600, "it is empty"),
        (Some("a\nb\nc\nd\ne"), 0o600, "more than one line"),
        (
            Some(BEARER_SECRET),
            0o644,
            "everybody can read it (mode 644)",
        ),
    ] {
        let site = Site::with_worker("echo");
        let path = site.file("issues.secret");
        let site = site.configure(&hook(
            "bearer",
            &format!("secret_file = '{}'", path.display()),
        ));
        if let Some(content) = content {
            write(&path, content, mode);
        }
        let ran = served(&site);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let expected = format!("hooks.h.secret_file: the secret file {}: ", path.display());
        assert!(
            ran.stderr.contains(&expected) && ran.stderr.contains(words),
            "{ran:?}"
        );
    }
    let site = Site::with_worker("echo").configure(&hook("bearer", ""));
    let ran = served(&site);
    assert!(
        ran.stderr.contains("hooks.h.secret_env: is missing"),
        "{ran:?}"
    );
    assert_eq!(ran.code, Some(2));
}

#[test]
fn with_its_secret_it_starts() {
    let site = Site::with_worker("echo").configure(&hook("bearer", "secret_env = 'ISSUES'"));
    let mut daemon = Daemon::start(site.variable("ISSUES", BEARER_SECRET));
    assert!(daemon.terminate().success());
}

#[tokio::test]
async fn a_secret_in_a_file_can_be_changed_without_a_restart() {
    let site = Site::with_worker("echo");
    let (new, old) = (site.file("new.secret"), site.file("old.secret"));
    let files = format!("secret_file = ['{}', '{}']", new.display(), old.display());
    let site = site.configure(&hook("github", &files));
    write(&new, "the first secret\n", 0o600);
    write(&old, "the first secret\n", 0o600);
    let desk = Desk::open(site);
    let mut number = 0;
    let mut post = |secret: &str| {
        number += 1;
        Post::github(
            secret,
            &number.to_string(),
            &format!(r#"{{"text": "{number}"}}"#),
        )
    };
    desk.started("h", &post("the first secret")).await;
    write(&new, "the second secret\n", 0o600);
    desk.started("h", &post("the second secret")).await;
    desk.started("h", &post("the first secret")).await;
    write(&old, "the second secret\n", 0o600);
    desk.started("h", &post("the second secret")).await;
    let first = desk.refused("h", &post("the first secret")).await;
    assert_eq!(first, Refusal::BadSignature);
    assert_eq!(desk.sessions(), 4);
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_any_more_is_our_own_trouble() {
    let site = Site::with_worker("echo");
    let path = site.file("h.secret");
    write(&path, GITHUB_SECRET, 0o600);
    let site = site.configure(&hook(
        "github",
        &format!("secret_file = '{}'", path.display()),
    ));
    let desk = Desk::open(site);
    std::fs::remove_file(&path).unwrap();
    let post = Post::github(GITHUB_SECRET, "1", r#"{"text": "x"}"#);
    let error = desk.receive("h", &post).await;
    let said = format!("{:#}", error.unwrap_err());
    assert!(
        said.contains("hook 'h'") && said.contains("it is not there"),
        "{said}"
    );
}

#[tokio::test]
async fn one_file_that_is_gone_does_not_shut_out_the_others() {
    let site = Site::with_worker("echo");
    let (new, old) = (site.file("new.secret"), site.file("old.secret"));
    let files = format!("secret_file = ['{}', '{}']", old.display(), new.display());
    let site = site.configure(&hook("github", &files));
    write(&new, "the second secret\n", 0o600);
    write(&old, "the first secret\n", 0o600);
    let desk = Desk::open(site);
    std::fs::remove_file(&old).unwrap();
    let post = |secret: &str| Post::github(secret, secret, &format!("{{\"text\": \"{secret}\"}}"));
    desk.started("h", &post("the second secret")).await;
    // Whether this is signed by the one that is gone, nobody knows: the sender shall try again.
    let error = desk.receive("h", &post("the first secret")).await;
    let said = format!("{:#}", error.unwrap_err());
    assert!(said.contains("it is not there"), "{said}");
}

#[tokio::test]
async fn a_secret_that_is_sent_back_is_masked() {
    let desk = Desk::open(site());
    let body = format!(r#"{{"text": "the token is {BEARER_SECRET}, or {STANDARD_SECRET}"}}"#);
    let id = desk
        .started("bearer", &Post::bearer(BEARER_SECRET, &body))
        .await;
    let row = "SELECT objective || request FROM sessions WHERE id = ?1";
    let row: String = desk.site.cell(row, [&id]).unwrap();
    assert!(row.contains("the token is [masked], or [masked]"), "{row}");
    assert!(
        !row.contains(BEARER_SECRET) && !row.contains(&STANDARD_SECRET[6..]),
        "{row}"
    );
}
