//! Agents that give work to others, by a letter or by a tool.

use super::family::{answers, children, ended, field, head, of_task, workflow};
use crate::builtin::{Dialect, KEY, done};
use crate::support::model_server::{ModelServer, Play};
use crate::support::{Daemon, Session, Site, wait_for};
use serde_json::json;

/// Gives its work away once, and is done when it is told of the result.
fn gives(to: &str) -> String {
    format!(
        "cat >\"$HERE/prompt.$TURNS\"; if grep -q '^\\[SUB-AGENT\\|^\\[NO SUB-AGENT' \"$HERE/prompt.$TURNS\"; then echo 'all found'; echo TASK_COMPLETE
        else mkdir -p state; echo '{{\"agent\": \"{to}\", \"task\": \"Look in the cellar.\"}}' >state/spawn.json; echo 'I have asked.'; fi"
    )
}

const FINDS: &str =
    "cat >\"$HERE/scout.$TURNS\"; echo 'under TASK_COMPLETE the mat'; echo TASK_COMPLETE";

fn site(main: &str, scout: &str) -> Site {
    Site::new().agent("main", main).agent("scout", scout)
}

fn judged(site: &Site, session: &Session) -> Vec<(String, bool)> {
    site.verdicts(session)
}

fn pair(verdict: &str) -> (String, bool) {
    (verdict.to_owned(), true)
}

#[test]
fn a_letter_makes_a_sub_agent_and_its_answer_is_in_the_next_prompt() {
    let daemon = Daemon::start(site(&gives("scout"), FINDS));
    daemon.drop_file("job.md", "Find the key.");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("completed", "completed"));
    assert_eq!(parent.answer(), "all found");
    assert_eq!(
        judged(&daemon, &parent),
        [pair("unfinished"), pair("promised")]
    );
    let all = children(&daemon, &parent);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].ending(), ("completed", "completed"));
    assert_eq!(field(&daemon, &all[0], "depth"), "1");
    let [first, second] = [1, 2].map(|turn| daemon.read(&format!("prompt.{turn}")));
    assert!(
        first.contains("to another agent (main, scout), write `state/spawn.json`"),
        "{first}"
    );
    for wanted in [
        "You gave it this task: Look in the cellar.\nIt is done.",
        "\nunder [the promise] the mat\n[END OF THE SUB-AGENT",
        "left work for scout",
    ] {
        assert!(second.contains(wanted), "{wanted} in\n{second}");
    }
    let asked = daemon.read("scout.1");
    assert!(
        asked.starts_with("Look in the cellar.\n\nThis is one step"),
        "{asked}"
    );
    assert!(asked.contains("> Find the key."), "{asked}");
    assert!(!parent.workspace.join("state/spawn.json").exists());
    assert_eq!(answers(&daemon), [format!("job.{}.md", parent.short_id())]);
}

#[test]
fn nobody_is_told_of_sub_agents_where_there_are_none() {
    let prompt = "cat >\"$HERE/prompt\"; echo TASK_COMPLETE";
    let alone = Site::with_worker(prompt);
    alone.ralphd(&["run", "Go."]).done();
    assert!(!alone.read("prompt").contains("spawn"));
    let forbidden = site(prompt, FINDS).variable("RALPHD_DEFAULTS__MAX_DEPTH", "0");
    forbidden.ralphd(&["run", "Go."]).done();
    assert!(!forbidden.read("prompt").contains("spawn"));
}

#[test]
fn an_unknown_agent_is_named_with_the_nearest_known_one() {
    for (letter, words) in [
        (
            r#"{"agent": "scuot", "task": "x"}"#,
            "no agent is called 'scuot'; did you mean scout?",
        ),
        (
            r#"{"agent": "scout"}"#,
            "`state/spawn.json` could not be used: it is no JSON object",
        ),
    ] {
        let main = format!(
            "cat >\"$HERE/prompt.$TURNS\"; if [ $TURNS = 1 ]; then mkdir -p state; echo '{letter}' >state/spawn.json; else echo TASK_COMPLETE; fi"
        );
        let site = site(&main, FINDS);
        site.ralphd(&["run", "Go."]).done();
        let second = site.read("prompt.2");
        assert!(second.contains("[NO SUB-AGENT]\n"), "{second}");
        assert!(second.contains(words), "{second}");
        assert_eq!(site.runs("scout"), 0);
        let verdicts: Vec<String> =
            site.column("SELECT verdict FROM iterations ORDER BY number", []);
        assert_eq!(verdicts, ["unfinished", "promised"]);
    }
}

#[test]
fn a_failed_one_is_tried_once_more_before_the_agent_is_told() {
    let daemon = Daemon::start(site(
        &gives("scout"),
        "cat >\"$HERE/scout.$TURNS\"; echo 'too dark'",
    ));
    daemon.drop_file("job.md", "---\nmax_iterations: 2\n---\nFind the key.");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("completed", "completed"));
    let all = children(&daemon, &parent);
    let ends: Vec<_> = all.iter().map(Session::ending).collect();
    assert_eq!(ends, [("failed", "max_iterations"); 2]);
    assert!(!daemon.read("scout.2").contains("attempt before"));
    assert!(
        daemon
            .read("scout.3")
            .contains("The attempt before this one failed:\n> the sub-agent")
    );
    let second = daemon.read("prompt.2");
    assert!(
        second.contains("It was not done: the sub-agent 'scout' failed (max_iterations)"),
        "{second}"
    );
}

#[test]
fn three_deep_on_one_slot_and_no_deeper() {
    let mut site = Site::new().variable("RALPHD_QUEUE__MAX_PARALLEL", "1");
    for (name, to) in [
        ("main", "first"),
        ("first", "second"),
        ("second", "third"),
        ("third", "main"),
    ] {
        let script = gives(to).replace("prompt.", &format!("{name}.prompt."));
        site = site.agent(name, &script);
    }
    let daemon = Daemon::start(site);
    daemon.drop_file("job.md", "Find the key.");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("completed", "completed"));
    let depths: Vec<i64> = daemon.column("SELECT depth FROM sessions ORDER BY id", []);
    assert_eq!(depths, [0, 1, 2, 3]);
    let refused = daemon.read("third.prompt.2");
    let words = "sub-agents may be at most 3 deep, and this session is; do the work here instead";
    assert!(refused.contains(words), "{refused}");
    assert!(!daemon.read("third.prompt.1").contains("spawn"));
    for name in ["main", "first", "second", "third"] {
        assert_eq!(daemon.runs(name), 2, "{name}");
    }
    assert_eq!(answers(&daemon).len(), 1);
}

#[test]
fn the_tool_does_the_same_where_it_is_permitted() {
    let play = || {
        let task = json!({"agent": "scout", "task": "Look in the cellar."});
        ModelServer::scripted(vec![Play::call("spawn_agent", task), done("All found.")])
    };
    let server = play();
    let site = Site::new()
        .variable("PLAYED_KEY", KEY)
        .configure(&Dialect::Openai.agent(&server, ""))
        .agent("scout", FINDS);
    let said = site.ralphd(&["run", "Find the key."]).done();
    assert_eq!(said.trim(), "All found.");
    let told = server.requests()[1].body.to_string();
    assert!(
        told.contains("You gave it this task: Look in the cellar."),
        "{told}"
    );
    let verdicts: Vec<String> = site.column(
        "SELECT verdict FROM iterations i JOIN sessions s ON s.id = i.session_id WHERE s.depth = 0 ORDER BY number",
        [],
    );
    assert_eq!(verdicts, ["unfinished", "promised"]);

    let server = play();
    let site = Site::new()
        .variable("PLAYED_KEY", KEY)
        .configure(&Dialect::Openai.agent(&server, "tools = ['read']"))
        .agent("scout", FINDS);
    site.ralphd(&["run", "Find the key."]).done();
    let refused: String = site.cell("SELECT result FROM tool_calls", []).unwrap();
    assert!(refused.contains("spawn_agent"), "{refused}");
    assert_eq!(site.runs("scout"), 0);
    assert!(!server.requests()[0].body.to_string().contains("spawn"));
}

#[test]
fn a_step_of_a_plan_may_give_work_away_too() {
    let site = workflow(
        site(&format!("{}; exit", gives("scout")), FINDS),
        "plan",
        &["type = 'agent'\ndescription = 'Find it'"],
    );
    let daemon = Daemon::start(site);
    daemon.drop_file("job.md", "---\nplan: plan\n---\nFind the key.");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("completed", "completed"));
    let result = of_task(&daemon, &parent, 1, "result").unwrap();
    assert!(result.contains("all found"), "{result}");
    assert_eq!(children(&daemon, &parent).len(), 1);
    assert_eq!(daemon.runs("scout"), 1);
}

#[test]
fn each_keeps_its_own_handoff() {
    let main = "cat >\"$HERE/prompt.$TURNS\"; mkdir -p state; cp state/handoff.json \"$HERE/found.$TURNS\"
        if [ $TURNS = 1 ]; then echo '{\"phase\": \"mine\"}' >state/handoff.json; echo '{\"agent\": \"scout\", \"task\": \"Look.\"}' >state/spawn.json; echo hm
        else echo TASK_COMPLETE; fi";
    let scout = "cat >\"$HERE/scout.$TURNS\"; mkdir -p state; echo '{\"phase\": \"theirs\"}' >state/handoff.json; if [ $TURNS = 2 ]; then echo TASK_COMPLETE; else echo half; fi";
    let site = site(main, scout);
    site.ralphd(&["run", "Go."]).done();
    assert!(!site.read("scout.1").contains("[RESUMED STATE]"));
    assert!(site.read("scout.2").contains("theirs"));
    let second = site.read("prompt.2");
    assert!(
        second.contains("mine") && !second.contains("theirs"),
        "{second}"
    );
    assert!(site.read("found.2").contains("mine"));
}

#[test]
fn giving_work_away_is_progress() {
    let main = "mkdir -p state; if [ $TURNS -lt 5 ]; then echo '{\"agent\": \"scout\", \"task\": \"Look.\"}' >state/spawn.json; echo same; else echo TASK_COMPLETE; fi";
    let site = site(main, "echo TASK_COMPLETE");
    site.ralphd(&["run", "Go.", "--stagnation-threshold", "2"])
        .done();
    assert_eq!(site.runs("scout"), 4);
}

#[test]
fn a_kill_at_any_moment_of_it_makes_no_second_one() {
    let main = gives("scout");
    let scout = "until [ -e \"$HERE/go\" ]; do sleep 0.02; done; echo found; echo TASK_COMPLETE";
    let mut daemon = Daemon::start(site(&main, scout));
    daemon.drop_file("job.md", "Find the key.");
    for runs in ["main", "scout"] {
        wait_for(runs, || (daemon.runs(runs) >= 1).then_some(()));
        daemon.kill9();
        daemon.restart();
    }
    std::fs::write(daemon.file("go"), "").unwrap();
    wait_for("the second turn", || {
        (daemon.runs("main") >= 2).then_some(())
    });
    daemon.kill9();
    daemon.restart();
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("completed", "completed"));
    assert_eq!((daemon.runs("main"), daemon.runs("scout")), (2, 1));
    assert_eq!(children(&daemon, &parent).len(), 1);
}

#[test]
fn what_has_begun_does_not_queue_up_again() {
    let scout = "until [ -e \"$HERE/go\" ]; do sleep 0.02; done; echo scout >>\"$HERE/order\"; echo TASK_COMPLETE";
    let main = format!("echo main >>\"$HERE/order\"\n{}", gives("scout"));
    let site = site(&main, scout)
        .agent("other", "echo other >>\"$HERE/order\"; echo TASK_COMPLETE")
        .variable("RALPHD_QUEUE__MAX_PARALLEL", "1");
    let daemon = Daemon::start(site);
    daemon.drop_file("job.md", "Find the key.");
    wait_for("the sub-agent", || {
        (daemon.runs("scout") == 1).then_some(())
    });
    daemon.drop_file("later.md", "---\nagent: other\n---\nGo.");
    head(&daemon, "later");
    std::fs::write(daemon.file("go"), "").unwrap();
    ended(&daemon, "job");
    ended(&daemon, "later");
    assert_eq!(daemon.read("order"), "main\nscout\nmain\nother\n");
}

#[test]
fn a_question_of_a_sub_agent_ends_a_run_in_the_foreground() {
    let asks =
        "mkdir -p state; echo '{\"question\": \"Which cellar?\"}' >state/question.json; echo hm";
    let site = site(&gives("scout"), asks);
    let ran = site.ralphd(&["run", "Find the key."]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("Which cellar?"), "{ran:?}");
}

#[test]
fn a_cancelled_parent_takes_it_along() {
    let daemon = Daemon::start(site(&gives("scout"), "exec sleep 600"));
    daemon.drop_file("job.md", "Find the key.");
    wait_for("the sub-agent", || {
        (daemon.runs("scout") == 1).then_some(())
    });
    daemon.ralphd(&["cancel", &head(&daemon, "job").id]).done();
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("cancelled", "cancelled"));
    assert_eq!(
        children(&daemon, &parent)[0].ending(),
        ("cancelled", "cancelled")
    );
    daemon.assert_nothing_runs();
}
