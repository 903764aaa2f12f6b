//! Keys from files: the agent gets its key, and nobody else ever sees it.

use crate::support::tools::usage_limit;
use crate::support::{Daemon, Site, wait_for};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const FIRST: &str = "sk-planted-first-0123456789";
const SECOND: &str = "sk-planted-second-0123456789";

fn write_key(path: &Path, key: &str, mode: u32) {
    fs::write(path, format!("{key}\n")).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// A site whose worker takes its key from this file, in a variable that does not sound like a secret.
fn with_key(script: &str, file: &str) -> Site {
    let site = Site::with_worker(script).variable("RALPHD_LOG__LEVEL", "trace");
    let file = file.replace("HERE", site.root().to_str().unwrap());
    site.configure(&format!(
        "api_key_env = \"WORKER_LOGIN\"\napi_key_file = \"{file}\"\n"
    ))
}

fn found_in(directory: &Path) -> String {
    let grep = std::process::Command::new("grep")
        .args(["-rl", "sk-planted"])
        .arg(directory)
        .output()
        .unwrap();
    String::from_utf8_lossy(&grep.stdout).into_owned()
}

#[test]
fn a_key_reaches_the_agent_and_nothing_else_even_when_it_changes() {
    // It says the key wherever it can, and then the file holds another one.
    let script = format!(
        "printf %s \"$WORKER_LOGIN\" >>\"$HERE/seen\"; echo >>\"$HERE/seen\"
        tr '\\0' ' ' </proc/$$/cmdline >>\"$HERE/outside\"; tr '\\0' ' ' </proc/$PPID/cmdline >>\"$HERE/outside\"
        cat \"$HERE\"/state/turns/* >>\"$HERE/outside\"
        echo \"my key is $WORKER_LOGIN\"; echo \"$WORKER_LOGIN\" >&2
        echo \"{{\\\"phase\\\": \\\"$WORKER_LOGIN\\\"}}\" >state/handoff.json
        case $TURNS in
            1) printf %s {SECOND} >\"$HERE/key\" ;;
            2) echo \"{{\\\"question\\\": \\\"Is $WORKER_LOGIN right?\\\"}}\" >state/question.json ;;
            *) echo \"$WORKER_LOGIN\" >left.txt; echo \"It is $WORKER_LOGIN.\"; echo TASK_COMPLETE ;;
        esac"
    );
    let site = with_key(&script, "HERE/key");
    write_key(&site.file("key"), FIRST, 0o600);
    let mut daemon = Daemon::start(site);
    let verify = "cat left.txt; rm left.txt; cat state/handoff.json";
    daemon.drop_file("leak.md", &format!("---\nverify: {verify}\n---\nLeak it."));
    let waiting = daemon.in_state("leak", "awaiting_human");
    assert_eq!(found_in(&daemon.state()), "", "while it waits");
    let id = waiting.short_id();
    daemon
        .ralphd(&["answer", id, &format!("Yes, {SECOND}.")])
        .done();
    let session = daemon.ended("leak");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(
        daemon.read("seen"),
        format!("{FIRST}\n{SECOND}\n{SECOND}\n")
    );
    daemon.outbox("leak", &session);
    let mut shown = String::new();
    for words in [
        &["show", "--json", id][..],
        &["logs", id],
        &["agents", "--json"],
        &["doctor", "--json"],
        &["doctor"],
    ] {
        let ran = daemon.ralphd(words);
        shown.push_str(&ran.stdout);
        shown.push_str(&ran.stderr);
    }
    daemon.terminate();
    assert_eq!(found_in(&daemon.state()), "");
    for (place, text) in [
        ("journal", daemon.log()),
        ("commands", shown),
        ("outside", daemon.read("outside")),
    ] {
        assert!(
            !text.is_empty() && !text.contains("sk-planted"),
            "{place}: {text}"
        );
    }
}

#[test]
fn a_key_file_that_cannot_be_used_stops_the_session_and_is_named() {
    for (name, mode, problem) in [
        ("HERE/missing", 0o600, "it is not there"),
        ("HERE/key", 0o644, "everybody can read it (mode 644)"),
        ("name", 0o600, "$CREDENTIALS_DIRECTORY, which is not set"),
    ] {
        let site = with_key("echo TASK_COMPLETE", name);
        write_key(&site.file("key"), FIRST, mode);
        let ran = site.ralphd(&["run", "Go."]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(problem), "{ran:?}");
        assert_eq!(site.runs("worker"), 0);
    }
}

#[test]
fn a_relative_key_file_is_a_credential_of_systemd() {
    let site = with_key(
        "printf %s \"$WORKER_LOGIN\" >\"$HERE/seen\"; echo TASK_COMPLETE",
        "login",
    );
    let directory = site.file("credentials");
    fs::create_dir(&directory).unwrap();
    write_key(&directory.join("login"), FIRST, 0o440);
    let site = site.variable("CREDENTIALS_DIRECTORY", directory.to_str().unwrap());
    site.ralphd(&["run", "Go."]).done();
    assert_eq!(site.read("seen"), FIRST);
}

#[test]
fn a_running_turn_is_adopted_although_its_key_file_is_gone() {
    let script = "until [ -e \"$HERE/go\" ]; do sleep 0.02; done
        echo \"{\\\"phase\\\": \\\"$WORKER_LOGIN\\\"}\" >state/handoff.json; echo TASK_COMPLETE";
    let site = with_key(script, "HERE/key");
    write_key(&site.file("key"), FIRST, 0o600);
    let mut daemon = Daemon::start(site);
    daemon.drop_file("long.md", "Go.");
    wait_for("the agent", || (daemon.runs("worker") == 1).then_some(()));
    daemon.kill9();
    fs::remove_file(daemon.file("key")).unwrap();
    daemon.restart();
    wait_for("the adoption", || {
        let line = "the key of a running turn is masked";
        daemon.log().contains(line).then_some(())
    });
    fs::write(daemon.file("go"), "").unwrap();
    assert_eq!(daemon.ended("long").ending(), ("completed", "completed"));
    assert_eq!(daemon.runs("worker"), 1);
    assert_eq!(
        found_in(&daemon.state()),
        "",
        "the key is that of the turn, not of the file"
    );
}

#[test]
fn a_key_that_json_escapes_is_masked_in_a_stream_of_json() {
    let key = "sk-planted-\"q\\b/é<0123456789>\"";
    // As different tools write it: serde, with ASCII only, with careful slashes and brackets, and JSON within JSON.
    let script = r#"cat "$HERE/stream"; cat "$HERE/stream" >&2"#;
    let file = "HERE/key";
    let site = with_key(script, file).configure("output = \"claude\"\n");
    write_key(&site.file("key"), key, 0o600);
    let plain = serde_json::json!(key).to_string();
    let inner = &plain[1..plain.len() - 1];
    let nested = serde_json::json!({"arguments": format!("{{\"key\": {plain}}}")}).to_string();
    let forms = [
        inner.to_owned(),
        inner.replace('é', "\\u00e9"),
        inner.replace('é', "\\u00E9"),
        inner.replace('/', "\\/"),
        inner.replace('<', "\\u003c").replace('>', "\\u003e"),
    ];
    let line = |text: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let mut stream: Vec<String> = forms.iter().map(|form| line(form)).collect();
    stream.push(nested);
    stream.push(format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"result":"It is {inner}\nTASK_COMPLETE","total_cost_usd":0.1}}"#
    ));
    fs::write(site.file("stream"), stream.join("\n")).unwrap();
    let daemon = Daemon::start(site);
    daemon.drop_file("leak.md", "Leak it.");
    let session = daemon.ended("leak");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.answer(), "It is [masked]");
    daemon.outbox("leak", &session);
    assert_eq!(found_in(&daemon.state()), "");
}

#[test]
fn the_keys_of_all_agents_are_masked_in_the_output_of_each() {
    // The second has no key of its own, and finds the first one's; the check finds both.
    let limited = format!(
        "printf %s \"$FIRST_LOGIN\" >left.txt; {}",
        usage_limit("3600")
    );
    let goes_on = "cat left.txt; echo; printf %s \"$SECOND_LOGIN\" >>left.txt; echo TASK_COMPLETE";
    let site = Site::new();
    let here = site.root().display().to_string();
    let site = site.agent("first", &limited).configure(&format!(
        "output = \"claude\"\nfallback = \"second\"\napi_key_env = \"FIRST_LOGIN\"\napi_key_file = \"{here}/one\"\n"
    ));
    let site = site.agent("second", goes_on).configure(&format!(
        "api_key_env = \"SECOND_LOGIN\"\napi_key_file = \"{here}/two\"\n"
    ));
    write_key(&site.file("one"), FIRST, 0o600);
    write_key(&site.file("two"), SECOND, 0o600);
    let daemon = Daemon::start(site);
    let verify = "verify: cat left.txt; rm left.txt";
    daemon.drop_file("leak.md", &format!("---\n{verify}\n---\nLeak it."));
    assert_eq!(daemon.ended("leak").ending(), ("completed", "completed"));
    assert_eq!(found_in(&daemon.state()), "");
}
