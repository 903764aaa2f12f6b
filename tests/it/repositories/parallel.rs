//! Parallel plans: each task on a branch and in a tree of its own, brought together again; conflicts resolved by the merger or by a person;
//! nobody's work lost.

use super::{assert_sound, branch_of, git, repository};
use crate::support::{Daemon, Session, Site, wait_for};
use std::path::Path;

/// Plays every role: a task does what its description says, the merger what the script says.
pub const WORKER: &str = r#"
p="$HERE/prompt.$TURNS.$$"; cat >"$p"
if grep -q 'are in conflict' "$p"; then MERGER
elif grep -q 'A session has done its work' "$p"; then echo "All of it is done."; exit
else
    eval "$(sed -n 's/.*DO \(.*\) THEN STOP.*/\1/p' "$p" | head -n 1)"
    echo "did it"; echo TASK_COMPLETE
fi
"#;

const RESOLVES: &str = "printf 'one\\ntwo\\n' >shared.txt; echo 'kept both'; exit";
const FAILS: &str = "echo 'I do not know'; exit";

/// Three tasks beside each other, of which two change the same line.
const THREE: &str = r#"
[[tasks]]
order = 1
type = "agent"
description = "DO echo one >shared.txt; echo 1 >a.txt THEN STOP"

[[tasks]]
order = 2
type = "agent"
description = "DO echo two >shared.txt; echo 2 >b.txt THEN STOP"

[[tasks]]
order = 3
type = "agent"
description = "DO echo 3 >c.txt THEN STOP"
"#;

/// A site with a repository and a workflow.
pub fn site(merger: &str, workflow: &str) -> Site {
    let site = Site::with_worker(&WORKER.replace("MERGER", merger));
    repository(&site, "repo", &[("shared.txt", "start\n")]);
    std::fs::create_dir(site.file("workflows")).unwrap();
    std::fs::write(site.file("workflows/three.toml"), workflow).unwrap();
    site
}

/// What is asked for, with more of a front matter.
pub fn request(site: &Site, front: &str) -> String {
    format!(
        "---\nplan: three\nworkspace: {{ repo: {}, collaboration: parallel }}\n{front}---\nDo it in parallel.\n",
        site.file("repo").display()
    )
}

fn shown(place: &Path, branch: &str, file: &str) -> String {
    git(place, &["show", &format!("{branch}:{file}")])
}

/// The branches of its tasks.
fn branches(session: &Session) -> Vec<String> {
    let said = git(
        &session.workspace,
        &["for-each-ref", "--format=%(refname:short)", "refs/heads"],
    );
    let working = branch_of(session);
    said.lines()
        .filter(|name| name.starts_with(&format!("{working}-task-")))
        .map(str::to_owned)
        .collect()
}

/// No tree is left, in git's records or on the disk.
pub fn assert_no_trees(site: &Site, session: &Session) {
    wait_for("the trees to be taken away", || {
        let listed = git(&session.workspace, &["worktree", "list", "--porcelain"]);
        let count = listed.matches("worktree ").count();
        let left = site.state().join("workspaces/tree").join(&session.id);
        (count == 1 && !left.exists()).then_some(())
    });
}

#[test]
fn a_conflict_is_resolved_by_the_merger_and_all_comes_together() {
    let daemon = Daemon::start(site(RESOLVES, THREE));
    let verify = "verify: grep -q one shared.txt && grep -q two shared.txt && test -e c.txt\n";
    daemon.drop_file("job.md", &request(&daemon, verify));
    let session = daemon.ended("job");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(session.verified.as_deref(), Some("verified"));
    let (place, working) = (&session.workspace, branch_of(&session));
    assert_eq!(shown(place, &working, "shared.txt"), "one\ntwo");
    for (file, content) in [("a.txt", "1"), ("b.txt", "2"), ("c.txt", "3")] {
        assert_eq!(shown(place, &working, file), content);
        let there = std::fs::read_to_string(place.join(file)).unwrap();
        assert_eq!(there.trim(), content, "the workspace follows its branch");
    }
    let branches = branches(&session);
    assert_eq!(branches.len(), 3, "{branches:?}");
    for branch in &branches {
        git(place, &["merge-base", "--is-ancestor", branch, &working]);
    }
    let merged: String = daemon
        .cell(
            "SELECT result FROM tasks WHERE task_type = 'merge' AND status = 'completed'",
            [],
        )
        .unwrap();
    assert_eq!(merged.matches("\"branch\"").count(), 3, "{merged}");
    assert_eq!(daemon.events(&session, "workspace.conflicted"), 1);
    assert_eq!(git(place, &["status", "--porcelain"]), "");
    assert_no_trees(&daemon, &session);
    assert_sound(place);
    let (outbox, _) = daemon.outbox("job", &session);
    assert!(!outbox.contains("Not merged"), "{outbox}");
    let listed = daemon.ralphd(&["workspace", "list"]).done();
    let unmerged = listed
        .lines()
        .nth(1)
        .and_then(|line| line.split_once("unmerged: "));
    assert_eq!(
        unmerged.map(|(_, names)| names),
        Some(working.as_str()),
        "{listed}"
    );
}

#[test]
fn a_merger_whose_daemon_dies_is_heard_to_its_end() {
    let merger = "printf 'one\\ntwo\\n' >shared.txt; touch \"$HERE/resolved\"; until test -e \"$HERE/go\"; do sleep 0.01; done; echo 'kept both'; exit";
    let more = "\n[[tasks]]\norder = 4\ntype = \"merge\"\ndescription = \"Bring it together\"\ndepends_on = [1, 2]\n";
    let mut daemon = Daemon::start(site(merger, &format!("{THREE}{more}")));
    daemon.drop_file("job.md", &request(&daemon, ""));
    wait_for("the merger", || {
        daemon.file("resolved").exists().then_some(())
    });
    daemon.kill9();
    daemon.restart();
    let open = "SELECT count(*) FROM iterations WHERE ended_at_ms IS NULL";
    let again = "SELECT count(*) FROM tasks WHERE task_type = 'merge' AND claim_number > 1";
    wait_for("the merge to be taken up again", || {
        (daemon.count(again) == 1).then_some(())
    });
    assert_eq!(daemon.count(open), 1, "it is still at work");
    std::fs::write(daemon.file("go"), "").unwrap();
    let session = daemon.ended("job");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(daemon.count(open), 0);
    let heard = "SELECT count(*) FROM iterations WHERE final_text = 'kept both'";
    assert_eq!(daemon.count(heard), 1);
    assert_no_trees(&daemon, &session);
}

#[test]
fn a_person_resolves_what_the_merger_cannot_and_nothing_is_lost_meanwhile() {
    let daemon = Daemon::start(site(FAILS, THREE));
    daemon.drop_file("job.md", &request(&daemon, ""));
    let session = daemon.in_state("job", "awaiting_human");
    let context = session.human_context.clone().unwrap();
    assert!(context.contains("shared.txt"), "{context}");
    let (place, working) = (&session.workspace, branch_of(&session));
    assert_eq!(branches(&session).len(), 3);
    assert_eq!(shown(place, &working, "shared.txt"), "one");
    let unmerged = format!("{working}-task-2");
    assert_eq!(shown(place, &unmerged, "shared.txt"), "two");
    let trees = daemon.state().join("workspaces/tree").join(&session.id);
    let laid_out = trees.join("merge-4");
    let conflict = std::fs::read_to_string(laid_out.join("shared.txt")).unwrap();
    assert!(conflict.contains("<<<<<<<"), "{conflict}");
    std::fs::write(laid_out.join("shared.txt"), "one and two\n").unwrap();
    daemon.ralphd(&["answer", &session.id, "retry"]).done();
    let session = daemon.ended("job");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(shown(place, &working, "shared.txt"), "one and two");
    assert_no_trees(&daemon, &session);
    assert_sound(place);
}

#[test]
fn what_is_left_out_is_named_and_kept() {
    let daemon = Daemon::start(site(FAILS, THREE));
    daemon.drop_file("job.md", &request(&daemon, ""));
    let session = daemon.in_state("job", "awaiting_human");
    daemon.ralphd(&["answer", &session.id, "skip"]).done();
    let session = daemon.ended("job");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    let (place, working) = (&session.workspace, branch_of(&session));
    let unmerged = format!("{working}-task-2");
    let (outbox, json) = daemon.outbox("job", &session);
    assert!(
        outbox.contains(&format!("Not merged: {unmerged}")),
        "{outbox}"
    );
    assert!(
        json["changes"]["unmerged"].to_string().contains(&unmerged),
        "{json}"
    );
    assert_eq!(shown(place, &unmerged, "b.txt"), "2");
    assert_no_trees(&daemon, &session);
    assert_sound(place);
}

#[test]
fn a_task_starts_from_what_those_it_depends_on_have_left() {
    let workflow = r#"
[[tasks]]
order = 1
type = "agent"
description = "DO echo 1 >a.txt THEN STOP"

[[tasks]]
order = 2
type = "shell"
description = "Another file"
command = "echo 2 >b.txt"

[[tasks]]
order = 3
type = "agent"
agent = "helper"
description = "DO cat a.txt b.txt >both.txt THEN STOP"
depends_on = [1, 2]
"#;
    let site = site(FAILS, workflow).agent("helper", &WORKER.replace("MERGER", FAILS));
    let daemon = Daemon::start(site);
    daemon.drop_file("job.md", &request(&daemon, ""));
    let root = "SELECT id FROM sessions WHERE parent_session_id IS NULL";
    let root = wait_for("the session", || daemon.cell::<String>(root, []));
    let session = daemon.ended(&root);
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    let working = branch_of(&session);
    assert_eq!(shown(&session.workspace, &working, "both.txt"), "1\n2");
    assert_no_trees(&daemon, &session);
    assert_sound(&session.workspace);
}
