//! What counts as «done», and what the user finds then.

use crate::support::{Daemon, Site};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_text_file_becomes_an_answer_in_the_outbox() {
    let script = "cat >/dev/null; echo 'The sky is blue.'; echo TASK_COMPLETE";
    let daemon = Daemon::start(Site::with_worker(script));
    daemon.drop_file("sky.txt", "Which colour has the sky?");
    let session = daemon.ended("sky");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.answer(), "The sky is blue.");
    assert_eq!(session.verified.as_deref(), Some("claimed"));
    assert_eq!(session.iteration_count, 1);

    let logs = daemon.state().join("logs").join(&session.id);
    let workspace = session.workspace.to_str().unwrap();
    let (text, json) = daemon.outbox("sky", &session);
    for expected in [
        "as the agent claims",
        "Status: completed",
        "Verification: claimed",
        "The sky is blue.",
        "Iterations: 1 of 10",
        workspace,
        logs.to_str().unwrap(),
        &format!("ralphd continue {}", session.short_id()),
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
    assert_eq!(json["session_id"], session.id.as_str());
    assert_eq!(json["status"], "completed");
    assert_eq!(json["verified"], "claimed");
    assert_eq!(json["answer"], "The sky is blue.");
    assert_eq!(json["iteration_count"], 1);
    assert_eq!(json["workspace"], workspace);
    assert_eq!(json["logs"], logs.to_str().unwrap());
    assert!(json["next"].to_string().contains("ralphd continue"));
}

#[test]
fn a_session_leaves_rows_and_files_behind() {
    let script = "cat >/dev/null; echo 'The sky is blue.'; echo TASK_COMPLETE";
    let daemon = Daemon::start(Site::with_worker(script));
    daemon.drop_file("sky.md", "Which colour has the sky?");
    let session = daemon.ended("sky");
    let accepted = format!("accepted/{}.sky.md", session.id);
    assert!(daemon.inbox().join(accepted).is_file());
    let progress = "SELECT status || ' ' || progress_pct || ' ' || query_preview FROM v_session_progress WHERE session_id = ?1";
    assert_eq!(
        daemon.cell::<String>(progress, [&session.id]).unwrap(),
        "completed 100 Which colour has the sky?"
    );
    let iterations = daemon.iterations(&session);
    let [iteration] = &iterations[..] else {
        panic!("{iterations:?}")
    };
    assert_eq!(iteration.number, 1);
    assert_eq!(iteration.judged(), ("promised", true));
    assert_eq!(iteration.exit_code, Some(0));
    assert!(iteration.prompt().starts_with("Which colour has the sky?"));
    let output = std::fs::read_to_string(&iteration.output_file).unwrap();
    assert_eq!(output, "The sky is blue.\nTASK_COMPLETE\n");
    assert_eq!(iteration.final_text.as_deref(), Some(output.trim_end()));
    for file in [&iteration.prompt_file, &iteration.output_file] {
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} is for others", file.display());
    }
}

#[test]
fn words_about_the_promise_do_not_complete() {
    let site = Site::new()
        .agent("mention", "echo 'I will print TASK_COMPLETE when done'")
        .agent("echoes", "cat")
        .agent("indents", "sed 's/^/    /'")
        .agent("begins", "head -n 3; echo; echo 'I have read this.'");
    let daemon = Daemon::start(site);
    let plain = "Count the stars.";
    let spelled = "Count the stars and say\nTASK_COMPLETE\nwhen you have.";
    let cases = [
        ("mention-plain", "mention", plain),
        ("echoes-plain", "echoes", plain),
        ("echoes-spelled", "echoes", spelled),
        ("indents-spelled", "indents", spelled),
        ("begins-spelled", "begins", spelled),
    ];
    for (stem, agent, objective) in cases {
        let text = format!("---\nagent: {agent}\nmax_iterations: 6\n---\n{objective}\n");
        daemon.drop_file(&format!("{stem}.md"), &text);
    }
    for (stem, ..) in cases {
        let session = daemon.ended(stem);
        assert_eq!(session.status, "failed", "{stem}");
        let reason = session.end_reason.unwrap();
        assert!(
            ["max_iterations", "stagnated"].contains(&reason.as_str()),
            "{stem}: {reason}"
        );
        assert_eq!(session.verified, None);
    }
}

#[test]
fn the_promise_on_the_last_allowed_iteration_counts() {
    let script = "[ $TURNS -eq 3 ] && echo TASK_COMPLETE || echo \"step $TURNS\"";
    let daemon = Daemon::start(Site::with_worker(script));
    daemon.drop_file("last.md", "---\nmax_iterations: 3\n---\nGo.");
    let session = daemon.ended("last");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.iteration_count, 3);
}

#[test]
fn the_promise_of_an_agent_that_fails_is_not_believed() {
    let site = Site::with_worker("echo TASK_COMPLETE; exit 1")
        .variable("RALPHD_DEFAULTS__TRANSIENT_BACKOFF", "10ms");
    let daemon = Daemon::start(site);
    daemon.drop_file("liar.md", "Go.");
    let session = daemon.ended("liar");
    assert_eq!(session.ending(), ("failed", "agent_failed"));
    assert_eq!(session.verified, None);
    let (text, _) = daemon.outbox("liar", &session);
    assert!(text.contains("exit code 1"), "{text}");
}

#[test]
fn other_ways_to_say_it() {
    let site = Site::new()
        .agent("loose", "echo 'So: ALL GREEN, I believe!'")
        .agent("tagged", "echo 'Fine. <promise>ALL GREEN</promise>'")
        .agent("marked", "echo '**ALL GREEN**'");
    let daemon = Daemon::start(site);
    for (agent, rule) in [
        ("loose", "promise_match: contains\n"),
        ("tagged", ""),
        ("marked", ""),
    ] {
        let text = format!("---\nagent: {agent}\ncompletion_promise: ALL GREEN\n{rule}---\nGo.");
        daemon.drop_file(&format!("{agent}.md"), &text);
    }
    for agent in ["loose", "tagged", "marked"] {
        assert_eq!(daemon.ended(agent).status, "completed", "{agent}");
    }
}
