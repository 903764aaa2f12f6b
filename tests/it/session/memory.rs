//! What one iteration leaves for the next, and one session for the one that continues it.

use crate::support::{Daemon, Site};

const LEAVES_A_HANDOFF: &str = r#"mkdir -p state
cat >state/handoff.json <<'END'
{"phase": "wiring", "completed": ["plan"], "next_step": "solder the joint", "critical_files": ["board.txt"], "mood": "calm"}
END
echo "turn $TURNS""#;

#[test]
fn the_second_prompt_has_the_mission_and_the_handoff() {
    let script = format!("{LEAVES_A_HANDOFF}\n[ $TURNS -lt 2 ] || echo TASK_COMPLETE");
    let daemon = Daemon::start(Site::with_worker(&script));
    daemon.drop_file("radio.md", "Build a radio,\nwith two knobs.");
    let session = daemon.ended("radio");
    let iterations = daemon.iterations(&session);
    let first = iterations[0].prompt();
    assert!(first.starts_with("Build a radio,\nwith two knobs."));
    assert!(!first.contains("[RESUMED STATE]") && !first.contains("continuing"));
    let second = iterations[1].prompt();
    for expected in [
        "Build a radio,\nwith two knobs.",
        "You are continuing a long-running task",
        "[RESUMED STATE]",
        "Phase: wiring",
        "Next step: solder the joint",
        "board.txt",
        "mood: calm",
        "[FACTS]",
        "run 1: unfinished",
        "iteration 2 of at most 10",
    ] {
        assert!(
            second.contains(expected),
            "{expected:?} is not in\n{second}"
        );
    }
    let stored = iterations[0].handoff.as_deref().unwrap();
    assert!(stored.contains("solder the joint"), "{stored}");
}

#[test]
fn a_broken_handoff_is_replaced_by_the_last_good_one() {
    let script = r#"mkdir -p state
        case $TURNS in
            1) echo '{"phase": "one", "next_step": "go east"}' >state/handoff.json ;;
            2) echo '{"phase": "two", ' >state/handoff.json ;;
            3) head -c 70000 /dev/zero | tr '\0' x >state/handoff.json ;;
            *) rm state/handoff.json; echo TASK_COMPLETE ;;
        esac
        echo "turn $TURNS""#;
    let daemon = Daemon::start(Site::with_worker(script));
    daemon.drop_file("walk.md", "Walk.");
    let session = daemon.ended("walk");
    assert_eq!(session.status, "completed");
    assert_eq!(daemon.events(&session, "handoff.invalid"), 2);
    let iterations = daemon.iterations(&session);
    for (index, problem) in [(2, "not valid JSON"), (3, "larger than 64 KiB")] {
        let prompt = iterations[index].prompt();
        assert!(prompt.contains("Next step: go east"), "{prompt}");
        let complaint = format!("`state/handoff.json` could not be used: it is {problem}");
        assert!(prompt.contains(&complaint), "{prompt}");
    }
}

#[test]
fn continue_goes_on_in_the_same_workspace_with_the_same_handoff() {
    let script = format!(
        "{LEAVES_A_HANDOFF}\necho x >>progress.txt\n[ $(wc -l <progress.txt) -lt 3 ] || echo TASK_COMPLETE"
    );
    let daemon = Daemon::start(Site::with_worker(&script));
    daemon.drop_file("long.md", "---\nmax_iterations: 2\n---\nTake three steps.");
    let stopped = daemon.ended("long");
    assert_eq!(stopped.ending(), ("failed", "max_iterations"));
    let (text, _) = daemon.outbox("long", &stopped);
    let advice = format!("ralphd continue {} --max-iterations 10", stopped.short_id());
    assert!(text.contains(&advice), "{text}");

    let words: Vec<&str> = advice.split(' ').skip(1).collect();
    let id = daemon.ralphd(&words).done().trim().to_owned();
    let session = daemon.ended(&id);
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.follows.as_deref(), Some(stopped.id.as_str()));
    assert_eq!(session.workspace, stopped.workspace);
    let first = daemon.iterations(&session)[0].prompt();
    assert!(first.contains("You are continuing"), "{first}");
    assert!(first.contains("Next step: solder the joint"), "{first}");
    assert!(first.contains("iteration 1 of at most 10"), "{first}");
    assert_eq!(daemon.session(&stopped.id).unwrap().status, "failed");
}

#[test]
fn retry_starts_afresh() {
    let daemon = Daemon::start(Site::with_worker(LEAVES_A_HANDOFF));
    daemon.drop_file("again.md", "---\nmax_iterations: 1\n---\nGo.");
    let stopped = daemon.ended("again");
    let id = daemon.ralphd(&["retry", stopped.short_id()]).done();
    let session = daemon.ended(id.trim());
    assert_ne!(session.workspace, stopped.workspace);
    assert_eq!(session.follows.as_deref(), Some(stopped.id.as_str()));
    let first = daemon.iterations(&session)[0].prompt();
    assert!(!first.contains("[RESUMED STATE]"), "{first}");
    assert_eq!(daemon.runs("worker"), 2);
}

#[test]
fn an_open_session_is_neither_continued_nor_retried() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    daemon.drop_file(
        "later.md",
        "---\nnot_before: 2999-01-01T00:00:00Z\n---\nGo.",
    );
    let session = daemon.in_state("later", "created");
    for verb in ["continue", "retry"] {
        let ran = daemon.ralphd(&[verb, &session.id]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("created"), "{ran:?}");
    }
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 1);
}
