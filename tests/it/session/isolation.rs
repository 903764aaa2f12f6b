//! What agents see of the daemon and of each other.

use crate::support::{Daemon, Site};

#[test]
fn agents_get_a_clean_environment() {
    let site = Site::new()
        .agent("worker", "env >\"$HERE/environment\"; echo TASK_COMPLETE")
        .configure("env = [\"OF_THE_AGENT\"]\n")
        .variable("RALPHD_PROCESS__ENV", "OF_ALL")
        .variable("OF_ALL", "one")
        .variable("OF_THE_AGENT", "two")
        .variable("OF_THE_REQUEST", "three")
        .variable("ANTHROPIC_API_KEY", "s3cret")
        .variable("SOME_TOKEN", "s3cret");
    let daemon = Daemon::start(site);
    let check = format!("env >{}", daemon.file("of-the-check").display());
    let front = format!("env: [ OF_THE_REQUEST ]\nverify: \"{check}\"");
    daemon.drop_file("look.md", &format!("---\n{front}\n---\nGo."));
    let session = daemon.ended("look");
    let seen = daemon.read("environment");
    for expected in [
        "OF_ALL=one",
        "OF_THE_AGENT=two",
        "OF_THE_REQUEST=three",
        "PATH=/",
        "RALPHD_ITERATION=1",
        &format!("RALPHD_SESSION_ID={}", session.id),
        &format!("RALPHD_WORKSPACE={}", session.workspace.display()),
        "RALPHD_TASK_ID=",
    ] {
        assert!(seen.contains(expected), "{expected:?} is not in\n{seen}");
    }
    for text in [seen, daemon.read("of-the-check")] {
        assert!(!text.is_empty());
        assert!(!text.contains("s3cret"), "{text}");
        assert!(!text.contains("RALPHD_PROCESS__ENV"), "{text}");
    }
}

#[test]
fn agents_work_in_the_workspace_and_read_the_prompt_as_configured() {
    let script = "pwd >\"$HERE/$1.where\"; cat \"${2:-/dev/stdin}\" >\"$HERE/$1.prompt\"; echo TASK_COMPLETE";
    let mut site = Site::new().agent("worker", script);
    let path = site.file("worker.sh");
    for delivery in ["stdin", "file"] {
        let command = format!("[\"/bin/sh\", \"{}\", \"{delivery}\"]", path.display());
        site = site.configure(&format!(
            "[agents.by-{delivery}]\ncommand = {command}\nprompt = \"{delivery}\"\n"
        ));
    }
    let daemon = Daemon::start(site);
    for delivery in ["stdin", "file"] {
        let text = format!("---\nagent: by-{delivery}\n---\nGo by {delivery}.");
        daemon.drop_file(&format!("{delivery}.md"), &text);
        let session = daemon.ended(delivery);
        assert_eq!(session.status, "completed");
        let place = daemon.read(&format!("{delivery}.where"));
        assert_eq!(place.trim(), session.workspace.to_str().unwrap());
        let prompt = daemon.read(&format!("{delivery}.prompt"));
        assert_eq!(prompt, daemon.iterations(&session)[0].prompt());
    }
}

#[test]
fn sessions_in_one_workspace_take_turns() {
    let script = "mkdir busy || echo overlap >>\"$HERE/overlap\"
        echo \"$RALPHD_SESSION_ID\" >>\"$HERE/order\"; echo x >>\"$RALPHD_SESSION_ID\"; sleep 0.05
        rmdir busy; [ $(wc -l <\"$RALPHD_SESSION_ID\") -ge 3 ] && echo TASK_COMPLETE || echo \"turn $TURNS\"";
    let daemon = Daemon::start(Site::with_worker(script));
    let names = ["a", "b", "c", "d"];
    for name in names {
        let text = "---\nworkspace: { session: shared }\n---\nGo.";
        daemon.drop_file(&format!("{name}.md"), text);
    }
    for name in names {
        let session = daemon.ended(name);
        assert_eq!(session.ending(), ("completed", "completed"));
        assert!(session.workspace.ends_with("workspaces/session/shared"));
    }
    assert_eq!(daemon.read("overlap"), "");
    let order = daemon.read("order");
    let mut blocks: Vec<&str> = order.lines().collect();
    assert_eq!(blocks.len(), 12);
    blocks.dedup();
    assert_eq!(blocks.len(), 4, "nobody comes in between: {order}");
}
