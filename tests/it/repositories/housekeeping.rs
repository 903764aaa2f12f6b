//! Workspaces listed, shown and removed: exactly those that hold nothing of anybody's.

use super::{git, repository};
use crate::support::{Daemon, Site, wait_for};
use std::collections::BTreeSet;

/// Does what the objective says: nothing, a change, or a question.
const WORKER: &str = r#"
p=$(cat)
case "$p" in
*"KIND changed"*) echo new >new.txt ;;
*"KIND asks"*) mkdir -p state; echo '{"question": "Which?"}' >state/question.json; echo "I ask"; exit ;;
esac
echo done; echo TASK_COMPLETE
"#;

/// The kinds, and whether a workspace of that kind may go once it is old.
const KINDS: [(&str, bool); 10] = [
    ("plain", true),
    ("plain_named", true),
    ("clean", true),
    ("clean_named", true),
    ("changed", false),
    ("pushed", true),
    ("dirty", false),
    ("asks", false),
    ("young", false),
    ("in_place", false),
];

fn request(site: &Site, kind: &str, number: usize) -> String {
    let repo = site.file("repo").display().to_string();
    let own = site.file(&format!("own{number}")).display().to_string();
    let workspace = match kind {
        "plain" | "asks" => String::new(),
        "plain_named" => format!("workspace: {{ session: w{number} }}\n"),
        "clean_named" => format!("workspace: {{ session: w{number}, repo: {repo} }}\n"),
        "in_place" => format!("workspace: {{ repo: {own}, in_place: true }}\n"),
        _ => format!("workspace: {{ repo: {repo} }}\n"),
    };
    let does = if kind == "pushed" { "changed" } else { kind };
    format!("---\n{workspace}max_iterations: 2\n---\nKIND {does}\n")
}

#[test]
fn cleanup_removes_exactly_what_is_safe() {
    let site = Site::with_worker(WORKER).configure("[queue]\nmax_parallel = 8\n");
    let repo = repository(&site, "repo", &[("a.txt", "a\n")]);
    let mut cases = Vec::new();
    for number in 0..50 {
        let (kind, goes) = KINDS[number % KINDS.len()];
        if kind == "in_place" {
            repository(&site, &format!("own{number}"), &[("a.txt", "a\n")]);
        }
        cases.push((format!("job{number}"), kind, goes));
    }
    let daemon = Daemon::start(site);
    for (number, (name, kind, _)) in cases.iter().enumerate() {
        daemon.drop_file(&format!("{name}.md"), &request(&daemon, kind, number));
    }
    let sessions: Vec<_> = cases
        .iter()
        .map(|(name, kind, _)| match *kind {
            "asks" => daemon.in_state(name, "awaiting_human"),
            _ => daemon.ended(name),
        })
        .collect();
    let mut expected = BTreeSet::new();
    for (session, (_, kind, goes)) in sessions.iter().zip(&cases) {
        let place = &session.workspace;
        match *kind {
            "dirty" => std::fs::write(place.join("a.txt"), "by hand\n").unwrap(),
            "pushed" => {
                let branch = super::branch_of(session);
                let to = repo.display().to_string();
                git(place, &["push", "--quiet", &to, &branch]);
            }
            _ => {}
        }
        if *goes {
            expected.insert(place.display().to_string());
        }
    }
    wait_for("the locks of checkouts to be opened", || {
        let open = "SELECT count(*) FROM workspaces WHERE untidy_session_id IS NOT NULL";
        (daemon.count(open) == 0).then_some(())
    });
    age(&daemon, &cases, &sessions);
    let said = daemon
        .ralphd(&["workspace", "cleanup", "--older-than", "7d", "--json"])
        .done();
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let removed = said["removed"].as_array().unwrap().iter();
    let removed: BTreeSet<String> = removed.map(|p| p.as_str().unwrap().to_owned()).collect();
    assert_eq!(removed, expected, "{said:#}");
    for (session, (name, kind, goes)) in sessions.iter().zip(&cases) {
        assert_eq!(!session.workspace.exists(), *goes, "{name}: {kind}");
    }
    let listed = daemon.ralphd(&["workspace", "list"]).done();
    assert!(listed.contains("unmerged: agent/"), "{listed}");
    let changed = &sessions[4];
    let kept = daemon.ralphd(&["workspace", "delete", &changed.id]);
    assert_eq!(kept.code, Some(1), "{kept:?}");
    assert!(kept.stderr.contains("--force"), "{kept:?}");
    daemon
        .ralphd(&["workspace", "delete", &changed.id, "--force"])
        .done();
    assert!(!changed.workspace.exists());
    let own = sessions[9].workspace.display().to_string();
    let own = daemon.ralphd(&["workspace", "delete", &own, "--force"]);
    assert_eq!(own.code, Some(1), "{own:?}");
    assert!(sessions[9].workspace.join("a.txt").exists());
}

/// All but the young were used last a long time ago.
fn age(daemon: &Daemon, cases: &[(String, &str, bool)], sessions: &[crate::support::Session]) {
    let database = rusqlite::Connection::open(daemon.state().join("ralphd.db")).unwrap();
    database
        .busy_timeout(std::time::Duration::from_secs(30))
        .unwrap();
    for (session, (_, kind, _)) in sessions.iter().zip(cases) {
        if *kind != "young" {
            let path = session.workspace.display().to_string();
            let aged = "UPDATE workspaces SET used_at_ms = 1000 WHERE path = ?1";
            assert_eq!(database.execute(aged, [path]).unwrap(), 1);
        }
    }
}
