//! `ralphd doctor` and the agents: what it sees for nothing, and what a real try says of each.

use crate::support::{Site, is_alive, wait_for};
use rustix::process::{Pid, Signal};
use serde_json::Value as Json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

fn sample(name: &str) -> String {
    format!("{}/tests/samples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// An agent that is this script when asked to work, and has a version.
fn tool(site: Site, name: &str, more: &str, script: &str) -> Site {
    let script = format!("[ \"$1\" = --version ] && echo '{name} 1.0' && exit\n{script}");
    let path = site.file(name);
    fs::write(
        &path,
        format!("#!/bin/sh\nHERE='{}'\n{script}\n", site.root().display()),
    )
    .unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let command = format!("command = [\"{}\"]", path.display());
    site.configure(&format!("[agents.{name}]\n{command}\n{more}\n"))
}

fn checks(site: &Site, words: &[&str]) -> (Option<i32>, Vec<(String, String, String)>) {
    let ran = site.ralphd(words);
    let list: Vec<Json> = serde_json::from_str(&ran.stdout).unwrap();
    let text = |check: &Json, key: &str| check[key].as_str().unwrap().to_owned();
    let found = list.iter().map(|check| {
        (
            text(check, "name"),
            text(check, "level"),
            text(check, "detail"),
        )
    });
    (ran.code, found.collect())
}

fn said_of<'a>(checks: &'a [(String, String, String)], name: &str) -> Vec<(&'a str, &'a str)> {
    let of_name = checks.iter().filter(|check| check.0 == name);
    of_name
        .map(|check| (check.1.as_str(), check.2.as_str()))
        .collect()
}

#[test]
fn each_agent_is_tried_and_its_answer_told() {
    let site = Site::new();
    let print = |name: &str, code: u8| format!("cat >/dev/null; cat {}; exit {code}", sample(name));
    let site = tool(
        site,
        "fine",
        "output = \"claude\"",
        &format!(
            "{}; exit",
            r#"pwd >"$HERE/where"; echo '{"type":"result","subtype":"success","is_error":false,"result":"READY","total_cost_usd":0.0123,"num_turns":1,"usage":{"input_tokens":100,"output_tokens":20}}'"#
        ),
    );
    let site = tool(
        site,
        "refused",
        "preset = \"claude\"",
        &print("claude-json-e401.json", 1),
    );
    let site = tool(
        site,
        "limited",
        "preset = \"claude\"",
        &print("claude-stream-usagelimit.jsonl", 1),
    );
    let site = tool(
        site,
        "codex",
        "preset = \"codex\"",
        &print("codex-e401.jsonl", 1),
    );
    let site = tool(site, "chatty", "", "echo 'Hello there'");
    let site = site.configure("[agents.gone]\ncommand = [\"/nonexistent/agent\"]\n");
    let ran = site.ralphd(&["doctor", "--try-agents"]);
    assert!(ran.stderr.contains("this costs a few tokens"), "{ran:?}");
    let (code, found) = checks(&site, &["doctor", "--try-agents", "--json"]);
    assert_eq!(code, Some(1));
    for (name, level, words) in [
        ("try fine", "ok", ", 120 tokens, 0.0123 USD"),
        ("try refused", "fail", "auth: "),
        (
            "try refused",
            "fail",
            "set ANTHROPIC_API_KEY, or name a file in api_key_file, or run 'claude /login'",
        ),
        ("try limited", "warn", "usage limit: You've hit your limit"),
        ("try codex", "fail", "run 'codex login'"),
        ("try chatty", "warn", "but not with READY: Hello there"),
        (
            "agent gone",
            "fail",
            "program not found: /nonexistent/agent",
        ),
        ("agent fine", "ok", "fine 1.0"),
    ] {
        let said = said_of(&found, name);
        let fits = |(of, detail): &(&str, &str)| *of == level && detail.contains(words);
        assert!(said.iter().any(fits), "{name}: {said:?}");
    }
    assert_eq!(said_of(&found, "try gone"), []);
    assert_eq!(said_of(&found, "try rehearsal"), []);
    let place = site.read("where");
    assert!(!fs::exists(place.trim()).unwrap(), "{place}");
    assert!(!site.state().exists(), "nothing of it is kept");
}

#[test]
fn without_being_asked_nothing_is_spent_and_no_key_handed_out() {
    let script = "echo spent >>\"$HERE/spent\"";
    let site = tool(
        Site::new(),
        "worker",
        "api_key_env = \"LOGIN\"\napi_key_file = \"worker.key\"",
        script,
    );
    let (code, found) = checks(&site, &["doctor", "--json"]);
    assert_eq!(code, Some(1));
    let said = said_of(&found, "agent worker");
    assert_eq!(said[0], ("ok", "worker 1.0, the default"));
    assert!(
        said[1].0 == "fail" && said[1].1.contains("$CREDENTIALS_DIRECTORY"),
        "{said:?}"
    );
    let directory = site.file("credentials");
    fs::create_dir(&directory).unwrap();
    let key = directory.join("worker.key");
    fs::write(&key, "sk-planted-0123456789").unwrap();
    fs::set_permissions(&key, PermissionsExt::from_mode(0o400)).unwrap();
    let site = site.variable("CREDENTIALS_DIRECTORY", directory.to_str().unwrap());
    let (_, found) = checks(&site, &["doctor", "--json"]);
    let expected = format!("LOGIN from {}", key.display());
    assert_eq!(
        said_of(&found, "agent worker")[1],
        ("ok", expected.as_str())
    );
    assert_eq!(site.read("spent"), "");
}

#[test]
fn a_tried_agent_shows_no_key_and_ends_with_an_interrupt() {
    let script = "echo \"READY with $LOGIN\"; echo $$ >\"$HERE/pid\"; [ -e \"$HERE/quick\" ] || exec sleep 600";
    let site = Site::new();
    let file = site.file("key");
    fs::write(&file, "sk-planted-0123456789").unwrap();
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let more = format!(
        "api_key_env = \"LOGIN\"\napi_key_file = \"{}\"",
        file.display()
    );
    let site = tool(site, "worker", &more, script);
    let mut command = site.command(&["doctor", "--try-agents"]);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid: i32 = wait_for("the agent", || site.read("pid").trim().parse().ok());
    rustix::process::kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut child = child;
    wait_for("the doctor's end", || child.try_wait().unwrap());
    assert!(!is_alive(pid));
    fs::write(site.file("quick"), "").unwrap();
    let ran = site.ralphd(&["doctor", "--try-agents"]);
    assert!(
        ran.stdout.contains("try worker") && !ran.stdout.contains("sk-planted"),
        "{ran:?}"
    );
}
