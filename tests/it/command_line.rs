//! The commands as scripts use them: exit codes, what goes to stdout and what to stderr, ids and options.

use crate::support::{Daemon, Ran, Site, wait_for};
use std::io::Write;
use std::process::Stdio;

const ASKS: &str =
    "mkdir -p state; echo '{\"question\": \"Which?\"}' >state/question.json; echo hm";

fn with_input(site: &Site, arguments: &[&str], input: &str) -> Ran {
    let mut command = site.command(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    Ran::from_output(output)
}

#[test]
fn run_says_by_its_exit_code_how_it_went() {
    let site = Site::with_worker("echo 'It is done.'; echo TASK_COMPLETE")
        .agent("endless", "echo \"turn $TURNS\"")
        .agent("asking", ASKS)
        .configure("[agents.ghost]\ncommand = [\"/nonexistent/agent\"]\n");
    for (agent, code, said, answer) in [
        ("worker", 0, "completed", "It is done.\n"),
        ("ghost", 1, "agent_failed", ""),
        ("asking", 3, "asks: Which?", ""),
        ("endless", 4, "max_iterations", ""),
    ] {
        let ran = site.ralphd(&["run", "Go.", "--agent", agent, "--max-iterations", "2"]);
        assert_eq!(ran.code, Some(code), "{agent}: {ran:?}");
        assert!(ran.stderr.contains(said), "{agent}: {ran:?}");
        assert_eq!(ran.stdout, answer, "only the answer goes to stdout");
    }
    site.assert_nothing_runs();
}

#[test]
fn run_writes_the_outbox_too() {
    let site = Site::with_worker("echo 'It is done.'; echo TASK_COMPLETE");
    site.ralphd(&["run", "Paint the blue door"]).done();
    let session = site.ended("paint-the-blue-door");
    let (text, _) = site.outbox("paint-the-blue-door", &session);
    assert!(text.contains("It is done."), "{text}");
}

#[test]
fn an_interrupt_cancels_the_run() {
    let site = Site::with_worker("exec sleep 600");
    for (signal, runs) in [("INT", 1), ("TERM", 2)] {
        let mut command = site.command(&["run", "Go."]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_for("the agent", || (site.runs("worker") == runs).then_some(()));
        let kill = std::process::Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        let ran = Ran::from_output(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(130), "{ran:?}");
        site.assert_nothing_runs();
    }
    let ended: Vec<String> = site.column("SELECT status FROM sessions", []);
    assert_eq!(ended, ["cancelled", "cancelled"]);
}

#[test]
fn a_run_that_somebody_cancels_says_so() {
    let site = Site::with_worker("exec sleep 600");
    let mut command = site.command(&["run", "Go."]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_for("the agent", || (site.runs("worker") == 1).then_some(()));
    let id: String = site.cell("SELECT id FROM sessions", []).unwrap();
    site.ralphd(&["cancel", &id]).done();
    let ran = Ran::from_output(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("was cancelled; go on with"), "{ran:?}");
    site.assert_nothing_runs();
}

#[test]
fn mistakes_in_the_call_are_told_with_code_2() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    for (arguments, said) in [
        (&["run", "Go.", "--colour", "blue"][..], "--colour"),
        (&["run", "Go.", "--agent", "workr"], "did you mean worker"),
        (&["run", "Go.", "--max-iterations", "0"], "max_iterations"),
        (
            &["run", "Go.", "--max-iterations", "many"],
            "max-iterations",
        ),
        (
            &["run", "Go.", "--completion-promise", " "],
            "completion_promise",
        ),
        (&["run", "Go.", "--budget", "euros=3"], "euros"),
        (
            &["run", "Go.", "--workspace", "session=../x"],
            "workspace.session",
        ),
        (
            &["run", "Go.", "--plan", "nightly"],
            "no workflow is called 'nightly'; there are none in",
        ),
        (&["run", "  "], "objective"),
        (&["submit", "/nonexistent.md"], "/nonexistent.md"),
        (
            &["submit", "some words"],
            "there is no file 'some words'; for an objective in words use 'ralphd run",
        ),
        (&["frobnicate"], "frobnicate"),
    ] {
        let ran = site.ralphd(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(said), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
    assert_eq!(site.count("SELECT count(*) FROM sessions"), 0);
}

#[test]
fn a_mistake_in_the_configuration_names_file_line_and_key() {
    for (text, said) in [
        (
            "[defaults]\nmax_iteration = 3\n",
            &[":2", "defaults.max_iteration", "max_iterations"][..],
        ),
        (
            "[queue]\n\nmax_parallel = \"four\"\n",
            &[":3", "queue.max_parallel"],
        ),
        ("[defaults]\nautonomy = 9\n", &[":2", "defaults.autonomy"]),
        ("[defaults\n", &[":1"]),
    ] {
        let site = Site::new().configure(text);
        for verb in ["serve", "run"] {
            let arguments = if verb == "run" {
                &["run", "Go."][..]
            } else {
                &["serve"]
            };
            let ran = site.ralphd(arguments);
            assert_eq!(ran.code, Some(2), "{ran:?}");
            assert!(ran.stderr.contains("ralphd.toml"), "{ran:?}");
            for word in said {
                assert!(ran.stderr.contains(word), "no {word:?}: {ran:?}");
            }
        }
        assert!(!site.state().exists());
    }
    let site = Site::new().variable("RALPHD_QUEUE__MAX_PARALEL", "3");
    let site = site.configure("");
    let ran = site.ralphd(&["serve"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("RALPHD_QUEUE__MAX_PARALEL"), "{ran:?}");
    assert!(ran.stderr.contains("max_parallel"), "{ran:?}");
}

#[test]
fn an_unknown_id_is_not_found() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    site.ralphd(&["submit", "--objective", "Go."]).done();
    for id in ["0123456789", "nonsense", "%", ""] {
        for verb in [
            &["cancel", id][..],
            &["pause", id],
            &["resume", id],
            &["answer", id, "yes"],
            &["approve", id],
            &["reject", id, "no"],
            &["retry", id],
        ] {
            let ran = site.ralphd(verb);
            assert_eq!(ran.code, Some(6), "{verb:?}: {ran:?}");
        }
    }
}

#[test]
fn ids_may_be_shortened() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    let submit = || {
        site.ralphd(&["submit", "--objective", "Go."])
            .done()
            .trim()
            .to_owned()
    };
    let (first, second) = (submit(), submit());
    let common = first
        .bytes()
        .zip(second.bytes())
        .take_while(|(one, other)| one == other)
        .count();
    let ambiguous = site.ralphd(&["cancel", &first[..common]]);
    assert_eq!(ambiguous.code, Some(6), "{ambiguous:?}");
    assert!(ambiguous.stderr.contains(&first) && ambiguous.stderr.contains(&second));
    site.ralphd(&["cancel", &first[..=common]]).done();
    site.ralphd(&["cancel", &second[second.len() - 8..].to_uppercase()])
        .done();
    for id in [&first, &second] {
        assert_eq!(site.session(id).unwrap().status, "cancelled");
    }
}

#[test]
fn options_stand_before_or_after_the_command() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    let (config, state) = (site.file("ralphd.toml"), site.state());
    let (config, state) = (config.to_str().unwrap(), state.to_str().unwrap());
    for arguments in [
        &[
            "--config",
            config,
            "--state",
            state,
            "--json",
            "submit",
            "--objective",
            "Go.",
            "--max-iterations",
            "3",
        ][..],
        &[
            "submit",
            "--objective",
            "Go.",
            "--max-iterations=3",
            "--json",
            "--state",
            state,
            "--config",
            config,
        ],
        &[
            "--json",
            "submit",
            "--max-iterations",
            "3",
            "--state",
            state,
            "--objective=Go.",
            "--config",
            config,
        ],
    ] {
        let said = Ran::of(site.bare_command(arguments)).done();
        let json: serde_json::Value = serde_json::from_str(&said).unwrap();
        let id = json["session_id"].as_str().unwrap();
        let sql = "SELECT max_iterations FROM sessions WHERE id = ?1";
        assert_eq!(site.cell::<i64>(sql, [id]), Some(3), "{arguments:?}");
    }
}

#[test]
fn every_key_of_a_request_is_an_option() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    let id = site.ralphd(&[
        "submit",
        "--objective",
        "Go.",
        "--verify",
        "true",
        "--autonomy",
        "3",
        "--priority",
        "-4",
        "--budget",
        "wall=8h",
        "--workspace",
        "session=auth",
        "--labels",
        "team=infra",
        "--protect",
        "tests/**",
        "--iteration-timeout",
        "5m",
        "--env",
        "HOME",
        "--stagnation-threshold",
        "5",
        "--promise-match",
        "contains",
    ]);
    let id = id.done().trim().to_owned();
    let text: String = site
        .cell("SELECT request FROM sessions WHERE id = ?1", [&id])
        .unwrap();
    let request: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (pointer, expected) in [
        ("/verify", "\"true\""),
        ("/autonomy", "3"),
        ("/priority", "-4"),
        ("/budget/wall", "\"8h\""),
        ("/workspace/session", "\"auth\""),
        ("/labels/team", "\"infra\""),
        ("/protect/0", "\"tests/**\""),
        ("/iteration_timeout", "\"5m\""),
        ("/env/0", "\"HOME\""),
        ("/stagnation_threshold", "5"),
        ("/promise_match", "\"contains\""),
    ] {
        let found = request.pointer(pointer).map(ToString::to_string);
        assert_eq!(found.as_deref(), Some(expected), "{pointer} in {text}");
    }
}

#[test]
fn submit_reads_files_and_stdin_and_warns_without_a_daemon() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    std::fs::write(
        site.file("work.md"),
        "---\nmax_iterations: 4\n---\nFrom a file.",
    )
    .unwrap();
    let from_file = site.ralphd(&["submit", "work.md"]);
    assert!(
        from_file.stderr.contains("no daemon is running"),
        "{from_file:?}"
    );
    let from_stdin = with_input(
        &site,
        &["submit", "-"],
        "---\nmax_iterations: 5\n---\nFrom stdin.",
    );
    let from_json = with_input(
        &site,
        &["submit", "-", "-q"],
        r#"{"objective": "From JSON.", "max_iterations": 6}"#,
    );
    assert_eq!(from_json.stderr, "");
    for (ran, expected) in [
        (from_file, "From a file.4"),
        (from_stdin, "From stdin.5"),
        (from_json, "From JSON.6"),
    ] {
        let id = ran.done();
        let sql = "SELECT objective || max_iterations FROM sessions WHERE id = ?1";
        assert_eq!(site.cell::<String>(sql, [id.trim()]).unwrap(), expected);
    }
    let wrong = with_input(&site, &["submit", "-"], "---\nagnet: x\n---\nGo.");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(
        wrong.stderr.contains("line 2") && wrong.stderr.contains("agent"),
        "{wrong:?}"
    );
}

#[test]
fn submit_may_wait_for_the_answer() {
    let site = Site::with_worker("echo 'It is done.'; echo TASK_COMPLETE")
        .agent("endless", "echo \"turn $TURNS\"")
        .agent("asking", ASKS);
    let daemon = Daemon::start(site);
    for (agent, code, last) in [
        ("worker", 0, "It is done."),
        ("endless", 4, ""),
        ("asking", 3, ""),
    ] {
        let ran = daemon.ralphd(&[
            "submit",
            "--objective",
            "Go.",
            "--wait",
            "--agent",
            agent,
            "--max-iterations",
            "2",
        ]);
        assert_eq!(ran.code, Some(code), "{agent}: {ran:?}");
        assert!(!ran.stderr.contains("no daemon"), "{ran:?}");
        assert!(ran.stdout.trim().ends_with(last), "{agent}: {ran:?}");
    }
}

#[test]
fn nothing_to_act_on_yet() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    let ran = site.ralphd(&["cancel", "0199"]);
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("there is no ralphd state"), "{ran:?}");
    assert!(!site.state().exists(), "a look makes nothing");
}
