//! Workspaces with a name: sessions follow each other there, each where the one before left off.

use super::{branch_of, git, repository};
use crate::support::{Daemon, Site, wait_for};

/// Adds a line to a file, and says how many there are; waits for the gate to open where there is one.
const WORKER: &str = r#"
cat >"$HERE/prompt.$TURNS"
date +%s%N >>"$HERE/begun"
echo "line of run $TURNS" >>log.txt
git log --format=%s >"$HERE/history.$TURNS"
[ ! -e "$HERE/gate" ] || while [ ! -e "$HERE/open" ]; do sleep 0.05; done
date +%s%N >>"$HERE/ended"
echo "there are $(wc -l <log.txt) lines"
echo TASK_COMPLETE
"#;

fn request(repo: &std::path::Path) -> String {
    format!(
        "---\nworkspace: {{ session: shared, repo: {}, ref: main }}\n---\nAdd a line.\n",
        repo.display()
    )
}

#[test]
fn sessions_follow_each_other_and_see_what_was_done_before() {
    let site = Site::with_worker(WORKER);
    let repo = repository(&site, "repo", &[("log.txt", "first\n")]);
    let before = git(&repo, &["rev-parse", "HEAD"]);
    std::fs::write(site.file("gate"), "").unwrap();
    let daemon = Daemon::start(site);
    daemon.drop_file("one.md", &request(&repo));
    wait_for("the first to be at work", || {
        (daemon.runs("worker") == 1).then_some(())
    });
    daemon.drop_file("two.md", &request(&repo));
    let waiting = wait_for("the second to wait", || {
        daemon.cell::<String>(
            "SELECT parked_reason FROM tasks WHERE waits_for IS NOT NULL",
            [],
        )
    });
    let first = daemon.session("one").unwrap();
    let words = format!("session locked by run {} since ", first.id);
    assert!(waiting.starts_with(&words), "{waiting}");
    let refused = daemon.ralphd(&[
        "submit",
        "--objective",
        "x",
        "--no-wait",
        "--workspace",
        "session=shared",
    ]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains(&words), "{refused:?}");
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 2);
    std::fs::write(daemon.file("open"), "").unwrap();
    let second = daemon.ended("two");
    assert_eq!(second.ending(), ("completed", "completed"));
    assert_eq!(second.answer(), "there are 3 lines");
    let (begun, ended) = (daemon.read("begun"), daemon.read("ended"));
    let stamps = |text: &str| -> Vec<u128> { text.lines().map(|l| l.parse().unwrap()).collect() };
    assert!(
        stamps(&ended)[0] < stamps(&begun)[1],
        "they were there at the same time"
    );
    let history = daemon.read("history.2");
    assert!(
        history.contains("Iteration 1: there are 2 lines"),
        "{history}"
    );
    let commit = git(&second.workspace, &["log", "-1", "--format=%an <%ae>%n%B"]);
    for part in [
        "ralphd <ralphd@localhost>",
        "Ralphd-Session: ",
        "Ralphd-Iteration: 1",
    ] {
        assert!(commit.contains(part), "{commit}");
    }
    assert!(branch_of(&second).starts_with("agent/shared-"));
    assert_eq!(git(&second.workspace, &["status", "--porcelain"]), "");
    let tracked = git(&second.workspace, &["ls-files"]);
    assert_eq!(tracked, "log.txt", "state/ must not be tracked");
    assert_eq!(git(&repo, &["rev-parse", "HEAD"]), before);
    assert_eq!(git(&repo, &["status", "--porcelain"]), "");
}

#[test]
fn the_next_prompt_and_the_outbox_tell_what_was_done() {
    let site = Site::with_worker(
        r#"
cat >"$HERE/prompt.$TURNS"
echo "$TURNS" >"file$TURNS.txt"
[ "$TURNS" = 1 ] || { git add -A && git -c user.name=a -c user.email=a@b commit -qm "My own commit"; }
[ "$TURNS" = 1 ] && echo "not yet" || { echo "all there"; echo TASK_COMPLETE; }
"#,
    );
    let repo = repository(&site, "repo", &[("a.txt", "a\n")]);
    let daemon = Daemon::start(site);
    daemon.drop_file(
        "job.md",
        &format!(
            "---\nworkspace: {{ repo: {} }}\n---\nWrite files.\n",
            repo.display()
        ),
    );
    let session = daemon.ended("job");
    assert_eq!(session.ending(), ("completed", "completed"));
    let prompt = daemon.read("prompt.2");
    for part in [
        "[FACTS]",
        "on branch agent/write-files-",
        "1 file changed, +1 -0",
        "file1.txt +1 -0",
    ] {
        assert!(prompt.contains(part), "{part} is not in\n{prompt}");
    }
    let commits: Vec<Option<String>> =
        daemon.column("SELECT git_commit FROM iterations ORDER BY number", []);
    assert_eq!(commits.len(), 2);
    assert_eq!(
        commits[1].as_deref(),
        Some(git(&session.workspace, &["rev-parse", "HEAD"]).as_str())
    );
    let (outbox, json) = daemon.outbox("job", &session);
    for part in [
        "Branch: agent/write-files-",
        "2 files changed, +2 -0",
        "My own commit",
    ] {
        assert!(outbox.contains(part), "{part} is not in\n{outbox}");
    }
    assert_eq!(json["changes"]["file_count"], 2, "{json}");
    let shown = daemon.ralphd(&["show", &session.id]).done();
    assert!(shown.contains("agent/write-files-"), "{shown}");
}

#[test]
fn a_request_that_cannot_be_worked_in_is_refused_in_words() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    let repo = repository(&site, "repo", &[("a.txt", "a\n")]);
    let whole = repo.display().to_string();
    for (where_to, words) in [
        (
            "repo=/nowhere/at/all",
            "there is no directory /nowhere/at/all",
        ),
        ("repo=ext::sh -c true", "workspace.repo"),
        ("ref=main", "needs a repository"),
        ("collaboration=parallel", "needs a repository"),
        ("in_place=true", "needs a repository"),
        (&format!("repo={whole},collaboration=parallel"), "planned"),
        (
            &format!("repo={whole},in_place=true,session=x"),
            "leave workspace.session out",
        ),
        (
            &format!("repo={whole},ref=--upload-pack=x"),
            "workspace.ref",
        ),
    ] {
        let refused = site.ralphd(&["submit", "--objective", "x", "--workspace", where_to]);
        assert_eq!(refused.code, Some(2), "{where_to}: {refused:?}");
        assert!(refused.stderr.contains(words), "{where_to}: {refused:?}");
    }
    let unknown = site.ralphd(&[
        "run",
        "x",
        "--workspace",
        &format!("repo={whole},ref=no-such-branch"),
    ]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(
        unknown.stderr.contains("no-such-branch") && unknown.stderr.contains("main"),
        "{unknown:?}"
    );
}
