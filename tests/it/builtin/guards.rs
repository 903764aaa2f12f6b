//! What stands between a model and the world: permissions, hooks, budgets, the doom loop, the walls around its tools.

use super::{BOTH, KEY, done};
use crate::support::Site;
use crate::support::model_server::{ModelServer, Play};
use serde_json::json;
use std::fs;

fn results(site: &Site) -> Vec<String> {
    site.column("SELECT ok || ' ' || result FROM tool_calls ORDER BY id", [])
}

#[test]
fn a_tool_that_is_not_permitted_is_refused_without_running() {
    for dialect in BOTH {
        let server = ModelServer::scripted(vec![
            Play::call("write", json!({"path": "x.txt", "content": "x"})),
            Play::call("rewrite", json!({})),
            done("I may only read."),
        ]);
        let site = dialect.site(&server, "tools = [\"read\", \"glob\"]");
        site.ralphd(&["run", "Write."]).done();
        let results = results(&site);
        assert!(
            results[0].starts_with("0 You are not permitted to use 'write'"),
            "{results:?}"
        );
        assert!(
            results[1].starts_with("0 There is no tool 'rewrite'"),
            "{results:?}"
        );
        let workspace: String = site.cell("SELECT workspace FROM sessions", []).unwrap();
        assert!(!fs::exists(format!("{workspace}/x.txt")).unwrap());
        let offered = server.requests()[0].body["tools"].as_array().unwrap().len();
        assert_eq!(offered, 2, "what is not permitted is not offered");
    }
}

#[test]
fn the_budget_of_calls_holds() {
    for dialect in BOTH {
        let server = ModelServer::answering(|number, _| match number {
            1..=4 => Play::call("bash", json!({"command": format!("echo {number} >> ran")})),
            _ => done("Enough."),
        });
        let site = dialect.site(&server, "max_tool_calls = 2");
        site.ralphd(&["run", "Go."]).done();
        let workspace: String = site.cell("SELECT workspace FROM sessions", []).unwrap();
        assert_eq!(
            fs::read_to_string(format!("{workspace}/ran")).unwrap(),
            "1\n2\n"
        );
        let ok: Vec<i64> = site.column("SELECT ok FROM tool_calls ORDER BY id", []);
        assert_eq!(ok, [1, 1, 0, 0]);
        assert!(results(&site)[2].contains("All 2 tool calls of this iteration are used up"));
    }
}

#[test]
fn a_model_that_repeats_itself_is_warned_then_stopped() {
    for dialect in BOTH {
        let server = ModelServer::answering(|_, _| {
            Play::call("bash", json!({"command": "echo again >> ran"}))
        });
        let site = dialect.site(&server, "");
        let ran = site.ralphd(&["run", "Go."]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let ending: String = site.cell("SELECT end_reason FROM sessions", []).unwrap();
        assert_eq!(ending, "doom_loop");
        let verdicts: Vec<String> = site.column("SELECT verdict FROM iterations", []);
        assert_eq!(verdicts, ["doom_loop", "doom_loop", "doom_loop"]);
        // Three runs each, the third with a warning; the fourth is not run.
        let warned = server.requests()[3].body.to_string();
        assert!(
            warned.contains("with the same input 3 times in a row"),
            "{warned}"
        );
        let workspace: String = site.cell("SELECT workspace FROM sessions", []).unwrap();
        let ran = fs::read_to_string(format!("{workspace}/ran")).unwrap();
        assert_eq!(ran.lines().count(), 9);
        assert_eq!(server.requests().len(), 12);
    }
}

#[test]
fn hooks_let_pass_block_withhold_and_interrupt() {
    for dialect in BOTH {
        let bash = |command: &str| Play::call("bash", json!({ "command": command }));
        let server = ModelServer::scripted(vec![
            bash("echo fine"),
            bash("echo forbidden > made"),
            bash("echo secretive"),
            bash("crash"),
            bash("babble"),
            bash("stop here"),
            done("The next iteration."),
        ]);
        let before = r#"read -r call
case "$call" in
  *forbidden*) echo '{"decision": "block", "reason": "not that one"}';;
  *crash*) echo no >&2; exit 7;;
  *babble*) echo 'all is well';;
  *"stop here"*) echo '{"decision": "interrupt", "reason": "enough for today"}';;
esac"#;
        let after = r#"read -r call
printf '%s\n' "$call" >> "$HOME/told"
case "$call" in *secretive*) echo '{"decision": "block", "reason": "for nobody"}';; esac"#;
        let site = dialect.site(&server, "");
        fs::write(site.file("before.sh"), before).unwrap();
        fs::write(site.file("after.sh"), after).unwrap();
        let hook = |name: &str| format!("[\"/bin/sh\", \"{}\"]", site.file(name).display());
        let hooks = format!(
            "pre_tool = {}\npost_tool = {}\n",
            hook("before.sh"),
            hook("after.sh")
        );
        let site = site.configure(&hooks);
        site.ralphd(&["run", "Go."]).done();
        let results = results(&site);
        assert!(
            results[0].starts_with("1 ") && results[0].contains("fine"),
            "{results:?}"
        );
        assert_eq!(results[1], "0 Blocked, and not run: not that one");
        assert_eq!(
            results[2],
            "0 It was run, but its result is withheld: for nobody"
        );
        assert_eq!(
            results[3],
            "0 Blocked, and not run: the pre_tool hook failed with exit code 7: no"
        );
        assert!(
            results[4].contains("did not answer with a JSON object"),
            "{results:?}"
        );
        assert!(results[5].contains("enough for today"), "{results:?}");
        let workspace: String = site.cell("SELECT workspace FROM sessions", []).unwrap();
        assert!(!fs::exists(format!("{workspace}/made")).unwrap());
        let told = site.read("told");
        assert_eq!(told.lines().count(), 2, "only what ran is told: {told}");
        let first: serde_json::Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
        assert_eq!(
            (&first["event"], &first["tool"]),
            (&json!("post_tool"), &json!("bash"))
        );
        assert_eq!(first["arguments"]["command"], "echo fine");
        let verdicts: Vec<String> =
            site.column("SELECT verdict FROM iterations ORDER BY number", []);
        assert_eq!(verdicts, ["unfinished", "promised"]);
    }
}

#[test]
fn a_hook_that_hangs_blocks() {
    for dialect in BOTH {
        let server = ModelServer::scripted(vec![
            Play::call("bash", json!({"command": "echo ran > made"})),
            done("It was not to be."),
        ]);
        let hanging = "hook_timeout = \"200ms\"\npre_tool = [\"/bin/sleep\", \"1000\"]";
        let site = dialect.site(&server, hanging);
        site.ralphd(&["run", "Go."]).done();
        assert_eq!(
            results(&site)[0],
            "0 Blocked, and not run: the pre_tool hook gave no answer in 200ms"
        );
        let workspace: String = site.cell("SELECT workspace FROM sessions", []).unwrap();
        assert!(!fs::exists(format!("{workspace}/made")).unwrap());
    }
}

#[test]
fn what_a_hook_says_is_masked_before_the_model_hears_it() {
    const TOKEN: &str = "token-of-the-deployment-0815";
    for dialect in BOTH {
        let bash = |command: &str| Play::call("bash", json!({ "command": command }));
        let server = ModelServer::scripted(vec![
            bash("blocked"),
            bash("echo withheld"),
            bash("echo enough"),
            done("That was all."),
        ]);
        let before = r#"read -r call
case "$call" in
  *blocked*) echo "cannot use $DEPLOY_TOKEN" >&2; exit 1;;
esac"#;
        let after = r#"printf '{"decision": "block", "reason": "it holds %s"}' "$DEPLOY_TOKEN""#;
        let site = dialect.site(&server, "env = [\"DEPLOY_TOKEN\"]");
        fs::write(site.file("before.sh"), before).unwrap();
        fs::write(site.file("after.sh"), after).unwrap();
        let hook = |name: &str| format!("[\"/bin/sh\", \"{}\"]", site.file(name).display());
        let hooks = format!(
            "pre_tool = {}\npost_tool = {}\n",
            hook("before.sh"),
            hook("after.sh")
        );
        let site = site.configure(&hooks).variable("DEPLOY_TOKEN", TOKEN);
        site.ralphd(&["run", "Go."]).done();
        let results = results(&site);
        assert!(results[0].contains("cannot use [masked]"), "{results:?}");
        assert!(results[1].contains("it holds [masked]"), "{results:?}");
        for request in server.requests() {
            let body = request.body.to_string();
            assert!(!body.contains(TOKEN), "{body}");
        }
    }
}

#[test]
fn nobody_reads_the_key_and_nothing_outside_the_workspace() {
    for dialect in BOTH {
        let bash = |command: &str| Play::call("bash", json!({ "command": command }));
        let server = ModelServer::scripted(vec![
            bash("env; cat /proc/$PPID/environ; cat /proc/self/environ | tr '\\0' '\\n'"),
            bash(
                "for p in /proc/[0-9]*; do cat $p/environ; done 2>&1 | tr '\\0' '\\n' | grep -c PLAYED",
            ),
            Play::call("read", json!({"path": "/proc/self/environ"})),
            Play::call("read", json!({"path": "../../../../outside.txt"})),
            bash("f=outside.txt; cd ../../..; cd ..; cat $f; echo x > written"),
            done("I saw nothing."),
        ]);
        let site = dialect.site(&server, "");
        fs::write(site.file("outside.txt"), "canary-of-the-house").unwrap();
        site.ralphd(&["run", "Look around."]).done();
        for request in server.requests() {
            let body = request.body.to_string();
            assert!(!body.contains(KEY), "{body}");
            assert!(!body.contains("canary-of-the-house"), "{body}");
        }
        assert!(!site.file("written").exists());
        for entry in walk(site.root()) {
            let text = fs::read(&entry).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            assert!(!text.contains(KEY), "{}", entry.display());
        }
    }
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(walk(&path)),
            path => found.push(path),
        }
    }
    found
}
