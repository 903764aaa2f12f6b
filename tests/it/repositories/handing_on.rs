//! What becomes of the work at the end: pushed or not, with a person's approval or without; and work in a user's own checkout.

use super::{branch_of, git, repository};
use crate::support::{Daemon, Site};
use std::path::PathBuf;

const WORKER: &str = "echo done >done.txt; echo finished; echo TASK_COMPLETE";

/// A site whose repository is pushed to without a tree in the way.
fn site(config: &str) -> (Site, PathBuf) {
    let site = Site::with_worker(WORKER).configure(&format!("[git]\npush = true\n{config}"));
    let repo = repository(&site, "repo", &[("a.txt", "a\n")]);
    let bare = site.file("bare.git");
    let (from, to) = (repo.display().to_string(), bare.display().to_string());
    git(site.root(), &["clone", "--quiet", "--bare", &from, &to]);
    (site, bare)
}

fn request(repo: &std::path::Path) -> String {
    format!(
        "---\nworkspace: {{ repo: {} }}\n---\nFinish it.\n",
        repo.display()
    )
}

#[test]
fn the_branch_of_a_completed_session_is_pushed() {
    let (site, bare) = site("");
    let daemon = Daemon::start(site);
    daemon.drop_file("job.md", &request(&bare));
    let session = daemon.ended("job");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    let branch = branch_of(&session);
    assert_eq!(git(&bare, &["show", &format!("{branch}:done.txt")]), "done");
    let (outbox, _) = daemon.outbox("job", &session);
    let words = format!("Pushed: {branch} pushed to {}", bare.display());
    assert!(outbox.contains(&words), "{outbox}");
}

#[test]
fn nothing_is_pushed_without_the_approval_that_was_asked_for() {
    let (site, bare) = site("require_approval = true\n");
    let daemon = Daemon::start(site);
    daemon.drop_file("job.md", &request(&bare));
    let session = daemon.in_state("job", "awaiting_human");
    let branch = branch_of(&session);
    let asked = session.human_context.clone().unwrap();
    for part in [&branch, "be pushed to", "done.txt", "+done"] {
        assert!(asked.contains(part), "{part} is not in {asked}");
    }
    assert_eq!(git(&bare, &["branch", "--list", &branch]), "");
    daemon
        .ralphd(&["reject", &session.id, "not like this"])
        .done();
    daemon.in_state("job", "paused");
    assert_eq!(git(&bare, &["branch", "--list", &branch]), "");
    daemon.ralphd(&["resume", &session.id]).done();
    daemon.in_state("job", "awaiting_human");
    daemon.ralphd(&["approve", &session.id]).done();
    let session = daemon.ended("job");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(git(&bare, &["show", &format!("{branch}:done.txt")]), "done");
    assert_eq!(daemon.runs("worker"), 1, "the work was done once");
}

#[test]
fn a_push_that_is_refused_is_said_and_the_work_is_done_all_the_same() {
    let (site, bare) = site("");
    let hook = bare.join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho 'no pushes at night' >&2\nexit 1\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).unwrap();
    let daemon = Daemon::start(site);
    daemon.drop_file("job.md", &request(&bare));
    let session = daemon.ended("job");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    let (outbox, _) = daemon.outbox("job", &session);
    assert!(outbox.contains("was NOT pushed"), "{outbox}");
    assert_eq!(daemon.events(&session, "workspace.not_pushed"), 1);
}

#[test]
fn a_users_own_checkout_is_worked_in_only_when_it_is_said() {
    let site = Site::with_worker(
        r#"cp .git/ralphd.lock "$HERE/lock.seen"; echo more >>a.txt; echo done; echo TASK_COMPLETE"#,
    );
    let repo = repository(&site, "repo", &[("a.txt", "a\n")]);
    std::fs::write(repo.join("a.txt"), "changed by me\n").unwrap();
    std::fs::write(repo.join("untracked.txt"), "mine too\n").unwrap();
    let daemon = Daemon::start(site);
    let place = format!("repo={},in_place=true", repo.display());
    let id = daemon
        .ralphd(&["submit", "--objective", "Add.", "--workspace", &place])
        .done();
    let session = daemon.ended(id.trim());
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(session.workspace, repo.canonicalize().unwrap());
    assert!(daemon.read("lock.seen").contains(&session.id));
    crate::support::wait_for("the lock to be opened", || {
        (!repo.join(".git/ralphd.lock").exists()).then_some(())
    });
    let safety = format!("refs/ralphd/safety/{}", session.id);
    assert_eq!(
        git(&repo, &["show", &format!("{safety}:a.txt")]),
        "changed by me"
    );
    assert_eq!(
        git(&repo, &["show", &format!("{safety}:untracked.txt")]),
        "mine too"
    );
    let text = std::fs::read_to_string(repo.join("a.txt")).unwrap();
    assert_eq!(text, "changed by me\nmore\n");
    assert_eq!(
        git(&repo, &["show", "main:a.txt"]),
        "a",
        "the user's branch is as it was"
    );
    assert!(branch_of(&session).starts_with("agent/add-"));
}
