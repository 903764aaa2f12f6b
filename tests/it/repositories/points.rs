//! Points of sessions: gone back to, forward again, gone on from in another way, and compared.

use super::{git, repository};
use crate::support::{Daemon, Ran, Session, Site};

/// Writes its number into a file of its own, a handoff, and is done at the third run of a session.
const COUNTER: &str = r#"
cat >"$HERE/prompt.$RALPHD_SESSION_ID.$RALPHD_ITERATION"
n=$RALPHD_ITERATION
echo "by NAME" >"run$n.txt"
echo "$n" >counter.txt
mkdir -p state && echo "{\"phase\": \"after $n\", \"next_step\": \"go on\"}" >state/handoff.json
[ "$n" -lt 3 ] && echo "run $n" || { echo "done by NAME"; echo TASK_COMPLETE; }
"#;

fn site() -> Site {
    Site::new()
        .agent("first", &COUNTER.replace("NAME", "first"))
        .agent("second", &COUNTER.replace("NAME", "second"))
}

fn files(session: &Session) -> Vec<String> {
    let entries = std::fs::read_dir(&session.workspace).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".txt"))
        .collect();
    names.sort();
    names
}

fn handoff(session: &Session) -> String {
    std::fs::read_to_string(session.workspace.join("state/handoff.json")).unwrap()
}

fn id_in(ran: Ran) -> String {
    ran.done().lines().next().unwrap().to_owned()
}

/// A session of three runs, in a repository or in a plain directory.
fn worked(daemon: &Daemon, in_repository: bool) -> Session {
    let place = match in_repository {
        true => {
            let repo = repository(daemon, "repo", &[("start.md", "s\n")]);
            format!("repo={}", repo.display())
        }
        false => "session=plain".to_owned(),
    };
    let submitted = daemon.ralphd(&["submit", "--objective", "Count.", "--workspace", &place]);
    let session = daemon.ended(&id_in(submitted));
    assert_eq!(session.ending(), ("completed", "completed"));
    session
}

#[test]
fn back_to_one_and_forward_again() {
    for in_repository in [true, false] {
        let daemon = Daemon::start(site());
        let session = worked(&daemon, in_repository);
        assert_eq!(
            files(&session),
            ["counter.txt", "run1.txt", "run2.txt", "run3.txt"]
        );
        let at = |number: i64| format!("{}@{number}", session.id);
        std::fs::write(session.workspace.join("mine.txt"), "a person's").unwrap();
        let said = daemon.ralphd(&["rewind", &at(1)]).done();
        assert!(said.contains("ralphd continue"), "{said}");
        assert!(said.contains("kept as refs/ralphd/abandoned/"), "{said}");
        assert_eq!(files(&session), ["counter.txt", "run1.txt"]);
        assert!(handoff(&session).contains("after 1"));
        let changed = || {
            let shown = daemon.ralphd(&["--json", "show", &session.id]).done();
            serde_json::from_str::<serde_json::Value>(&shown).unwrap()["changes"].clone()
        };
        assert_eq!(changed()["file_count"], 2, "{}", changed());
        daemon.ralphd(&["rewind", &at(3)]).done();
        assert_eq!(changed()["file_count"], 4, "{}", changed());
        assert_eq!(
            files(&session),
            ["counter.txt", "run1.txt", "run2.txt", "run3.txt"]
        );
        assert!(handoff(&session).contains("after 3"));
        daemon.ralphd(&["rewind", &at(0)]).done();
        assert_eq!(files(&session), Vec::<String>::new());
        daemon.ralphd(&["rewind", &at(2)]).done();
        let on = daemon.ralphd(&["continue", &session.id, "--agent", "second"]);
        let on = daemon.ended(&id_in(on));
        assert_eq!(on.ending(), ("completed", "completed"));
        let prompt = daemon.read(&format!("prompt.{}.1", on.id));
        assert!(prompt.contains("Phase: after 2"), "{prompt}");
        let missing = daemon.ralphd(&["rewind", &at(9)]);
        assert_eq!(missing.code, Some(6), "{missing:?}");
        assert!(missing.stderr.contains("only 0, 1, 2, 3"), "{missing:?}");
    }
}

#[test]
fn a_fork_leaves_the_other_alone_and_both_can_be_compared() {
    for in_repository in [true, false] {
        let daemon = Daemon::start(site());
        let session = worked(&daemon, in_repository);
        let (files_before, handoff_before) = (files(&session), handoff(&session));
        let at = |number: i64| format!("{}@{number}", session.id);
        let fork = daemon.ralphd(&["fork", &at(2), "--agent", "second"]);
        let fork = daemon.ended(&id_in(fork));
        assert_eq!(fork.ending(), ("completed", "completed"));
        assert_ne!(fork.workspace, session.workspace);
        assert_eq!(fork.answer(), "done by second", "it went on with run 3");
        let prompt = daemon.read(&format!("prompt.{}.3", fork.id));
        assert!(prompt.contains("Phase: after 2"), "{prompt}");
        assert!(prompt.contains("iteration 3 of at most 10"), "{prompt}");
        assert_eq!(files(&session), files_before);
        assert_eq!(handoff(&session), handoff_before);
        assert_eq!(files(&fork), files_before);
        let compared = daemon.ralphd(&["diff", &session.id, &fork.id]).done();
        assert!(
            compared.contains("-by first") && compared.contains("+by second"),
            "{compared}"
        );
        let named = daemon
            .ralphd(&["diff", &session.id, &fork.id, "--name-only"])
            .done();
        assert_eq!(named.split_whitespace().last(), Some("run3.txt"), "{named}");
        let own = daemon
            .ralphd(&["diff", &format!("{}..3", at(1)), "--name-only"])
            .done();
        assert!(
            own.contains("run2.txt") && own.contains("run3.txt"),
            "{own}"
        );
        assert!(!own.contains("run1.txt"), "{own}");
        let one = daemon.ralphd(&["diff", &at(2), "--stat"]).done();
        assert!(
            one.contains("run2.txt") && !one.contains("run3.txt"),
            "{one}"
        );
        if in_repository {
            let tip = git(&fork.workspace, &["symbolic-ref", "--short", "HEAD"]);
            assert!(tip.starts_with("agent/count-"), "{tip}");
        }
    }
}

#[test]
fn a_paused_session_goes_on_from_where_it_was_taken_back_to() {
    let site = Site::with_worker(
        r#"
cat >"$HERE/prompt.$TURNS"
echo "$TURNS" >>runs.txt
[ "$TURNS" != 2 ] || { touch "$HERE/second"; while [ ! -e "$HERE/open" ]; do sleep 0.05; done; }
[ "$TURNS" -lt 3 ] && echo "run $TURNS" || { echo "$(tr '\n' ' ' <runs.txt)"; echo TASK_COMPLETE; }
"#,
    );
    let daemon = Daemon::start(site);
    let id = id_in(daemon.ralphd(&["submit", "--objective", "Count."]));
    crate::support::wait_for("the second run", || {
        daemon.file("second").exists().then_some(())
    });
    let busy = daemon.ralphd(&["rewind", &format!("{id}@1")]);
    assert_eq!(busy.code, Some(1), "{busy:?}");
    assert!(busy.stderr.contains("pause it first"), "{busy:?}");
    daemon.ralphd(&["pause", &id]).done();
    std::fs::write(daemon.file("open"), "").unwrap();
    daemon.in_state(&id, "paused");
    daemon.ralphd(&["rewind", &format!("{id}@1")]).done();
    assert_eq!(daemon.session(&id).unwrap().iteration_count, 1);
    daemon.ralphd(&["resume", &id]).done();
    let session = daemon.ended(&id);
    assert_eq!(session.answer(), "1 3", "what the second run wrote is gone");
    assert_eq!(session.iteration_count, 2);
    let prompt = daemon.read("prompt.3");
    assert!(prompt.contains("iteration 2 of at most 10"), "{prompt}");
    assert!(!prompt.contains("run 2: unfinished"), "{prompt}");
    let rewound = "SELECT count(*) FROM iterations WHERE rewound_at_ms IS NOT NULL";
    assert_eq!(daemon.count(rewound), 1);
}
