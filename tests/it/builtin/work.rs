//! What a built-in agent does when all goes well.

use super::{BOTH, KEY, done};
use crate::support::model_server::{ModelServer, Play, Tokens};
use crate::support::{Daemon, Site};
use serde_json::json;
use std::fs;
use std::path::PathBuf;

const PRICE: &str = "[prices.played-model]\ninput = 2\ncached_input = 0.5\noutput = 10";

#[test]
fn a_plain_answer_with_its_cost() {
    for dialect in BOTH {
        let tokens = Tokens {
            fresh: 600,
            cache_read: 400,
            output: 50,
            ..Tokens::default()
        };
        let server = ModelServer::scripted(vec![done("Paris.").costing(tokens)]);
        let site = dialect.site(&server, PRICE);
        let answer = site.ralphd(&["run", "What is the capital of France?"]);
        assert_eq!(answer.code, Some(0), "{dialect:?} {answer:?}");
        assert!(answer.stdout.contains("Paris."), "{answer:?}");
        let sums =
            "SELECT printf('%d %d %.4f', input_tokens, output_tokens, cost_usd) FROM sessions";
        // 600 fresh at 2, 400 cached at 0.5, 50 out at 10.
        assert_eq!(site.cell::<String>(sums, []).unwrap(), "1000 50 0.0019");
        let steps = "SELECT printf('%d %s %d %d %.4f', number, model, input_tokens, cached_tokens, cost_usd) FROM steps";
        let step: String = site.cell(steps, []).unwrap();
        assert_eq!(step, "1 played-model 1000 400 0.0019");
        let request = &server.requests()[0];
        let key = request
            .header("x-api-key")
            .or(request.header("authorization"));
        assert!(key.unwrap().contains(KEY), "the server is told the key");
    }
}

/// A repository whose test fails, as the workspace of a named session.
fn broken_project(site: &Site) -> PathBuf {
    let workspace = site.state().join("workspaces/session/calc");
    fs::create_dir_all(&workspace).unwrap();
    fs::write(
        workspace.join("add.sh"),
        "# adds\nadd() { echo $(( $1 - $2 )); }\nsub() { echo $(( $1 - $2 )); }\n",
    )
    .unwrap();
    fs::write(
        workspace.join("test.sh"),
        ". ./add.sh\ntest \"$(add 2 3)\" = 5 || { echo 'add 2 3 is not 5'; exit 1; }\ntest \"$(sub 5 3)\" = 2\n",
    )
    .unwrap();
    workspace
}

#[test]
fn ten_steps_that_mend_a_failing_test() {
    for dialect in BOTH {
        let bash = |command: &str| Play::call("bash", json!({ "command": command }));
        let edit = |old: &str, new: &str| {
            let arguments = json!({"path": "add.sh", "old_string": old, "new_string": new});
            Play::call("edit", arguments)
        };
        let server = ModelServer::scripted(vec![
            Play::calls(
                "I look around.",
                &[
                    ("glob", json!({"pattern": "*.sh"})),
                    ("grep", json!({"pattern": "add"})),
                ],
            ),
            Play::call("read", json!({"path": "add.sh"})),
            bash(
                "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm start; sh test.sh",
            ),
            edit("echo $(( $1 - $2 ))", "echo $(( $1 + $2 ))"),
            edit(
                "add() { echo $(( $1 - $2 )); }",
                "add() { echo $(( $1 + $2 )); }",
            ),
            bash("sh test.sh && echo all green"),
            Play::call("git_status", json!({})),
            Play::call("git_diff", json!({})),
            Play::call(
                "write",
                json!({"path": "state/handoff.json", "content": "{\"phase\": \"mended\"}"}),
            ),
            done("The sign was wrong; it is mended."),
        ]);
        let site = dialect.site(&server, "");
        let workspace = broken_project(&site);
        let request =
            "---\nverify: sh test.sh\nworkspace: { session: calc }\n---\nMake test.sh pass.\n";
        fs::write(site.file("mend.md"), request).unwrap();
        let daemon = Daemon::start(site);
        daemon.drop_file("mend.md", request);
        let session = daemon.ended("mend");
        assert_eq!(session.ending(), ("completed", "completed"), "{dialect:?}");
        assert_eq!(session.verified.as_deref(), Some("verified"));
        assert_eq!(server.requests().len(), 10);
        assert!(
            fs::read_to_string(workspace.join("add.sh"))
                .unwrap()
                .contains("$1 + $2")
        );
        let calls = "SELECT name || ' ' || ok FROM tool_calls ORDER BY id";
        let calls: Vec<String> = daemon.column(calls, []);
        assert_eq!(
            calls,
            [
                "glob 1",
                "grep 1",
                "read 1",
                "bash 1",
                "edit 0",
                "edit 1",
                "bash 1",
                "git_status 1",
                "git_diff 1",
                "write 1"
            ]
        );
        let results: Vec<String> = daemon.column("SELECT result FROM tool_calls ORDER BY id", []);
        assert!(results[3].contains("add 2 3 is not 5"), "{}", results[3]);
        assert!(
            results[4].contains('2'),
            "it says how often it was found: {}",
            results[4]
        );
        assert!(
            results[8].contains("+add() { echo $(( $1 + $2 )); }"),
            "{}",
            results[8]
        );
        let incomplete = "SELECT count(*) FROM tool_calls WHERE arguments IS NULL OR result IS NULL OR duration_ms < 1";
        assert_eq!(daemon.count(incomplete), 0);
        assert_eq!(daemon.count("SELECT count(*) FROM steps"), 10);
        assert_eq!(daemon.events(&session, "step.ended"), 10);
        assert_eq!(
            daemon.iterations(&session)[0].handoff.as_deref(),
            Some("{\"phase\":\"mended\"}")
        );
    }
}

#[test]
fn what_one_iteration_leaves_the_next_one_finds() {
    for dialect in BOTH {
        let server = ModelServer::scripted(vec![
            Play::call(
                "write",
                json!({"path": "state/handoff.json", "content": "{\"next_step\": \"bake\"}"}),
            ),
            Play::say("The dough is ready."),
            done("It is baked."),
        ]);
        let site = dialect.site(&server, "");
        site.ralphd(&["run", "Bake a cake."]).done();
        let last = server.requests()[2].body.to_string();
        assert!(
            last.contains("Bake a cake.") && last.contains("bake"),
            "{last}"
        );
        assert!(
            !last.contains("The dough is ready.") || last.contains("[FACTS]"),
            "{last}"
        );
        assert_eq!(site.count("SELECT iteration_count FROM sessions"), 2);
    }
}

#[test]
fn a_question_to_a_person_ends_the_turn_and_costs_nothing_until_it_is_answered() {
    for dialect in BOTH {
        let server = ModelServer::scripted(vec![
            Play::call(
                "ask_human",
                json!({"question": "Which colour?", "options": ["red", "blue"]}),
            ),
            done("It is blue."),
        ]);
        let daemon = Daemon::start(dialect.site(&server, ""));
        daemon.drop_file("door.md", "Paint the door.");
        let waiting = daemon.in_state("door", "awaiting_human");
        assert!(waiting.human_context.unwrap().contains("Which colour?"));
        assert_eq!(server.requests().len(), 1);
        daemon.ralphd(&["answer", &waiting.id, "2"]).done();
        let session = daemon.ended("door");
        assert_eq!(session.ending(), ("completed", "completed"));
        let told = server.requests()[1].body.to_string();
        assert!(told.contains("Answer: blue"), "{told}");
    }
}

#[test]
fn steps_are_limited_and_the_next_iteration_goes_on() {
    for dialect in BOTH {
        let server = ModelServer::answering(|number, _| match number {
            9.. => done("Done after all."),
            _ => Play::call("bash", json!({"command": format!("echo step {number}")})),
        });
        let site = dialect.site(&server, "max_steps = 8");
        site.ralphd(&["run", "Count."]).done();
        let warned = server.requests()[6].body.to_string();
        assert!(
            warned.contains("steps are left in this iteration"),
            "{warned}"
        );
        let verdicts: Vec<String> =
            site.column("SELECT verdict FROM iterations ORDER BY number", []);
        assert_eq!(verdicts, ["unfinished", "promised"]);
        assert_eq!(server.requests().len(), 9);
    }
}

#[test]
fn tools_that_only_read_run_side_by_side() {
    for dialect in BOTH {
        // Each of the two reads only ends when the hook has seen both of them begin.
        let hook = "#!/bin/sh\ntouch \"begun.$$\"\nwhile [ \"$(ls begun.* | wc -l)\" -lt 2 ]; do sleep 0.01; done\n";
        let server = ModelServer::scripted(vec![
            Play::calls(
                "",
                &[
                    ("glob", json!({"pattern": "*"})),
                    ("grep", json!({"pattern": "x"})),
                ],
            ),
            done("Both are read."),
        ]);
        let site = dialect.site(&server, "");
        let path = site.file("hook.sh");
        fs::write(&path, hook).unwrap();
        let site = site.configure(&format!(
            "pre_tool = [\"/bin/sh\", \"{}\"]\n",
            path.display()
        ));
        site.ralphd(&["run", "Read both."]).done();
        assert_eq!(site.count("SELECT sum(ok) FROM tool_calls"), 2);
    }
}

#[test]
fn an_agent_is_offered_where_a_key_lies_in_the_environment() {
    let site = Site::new()
        .variable("ANTHROPIC_API_KEY", KEY)
        .variable("PATH", "/usr/bin:/bin");
    let listed = site.configure("").ralphd(&["agents", "--json"]).done();
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let named = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|agent| agent["name"] == "anthropic");
    assert_eq!(named.unwrap()["default"], true, "{listed}");
    assert!(!listed.to_string().contains(KEY));
}
