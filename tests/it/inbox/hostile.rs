//! Sixty entries that are no requests: each is refused with a fitting reason, nothing is followed, the daemon lives.

use super::{reason_for, rejected};
use crate::support::{Daemon, Site, wait_for};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

/// Entries that are no regular files, or whose name is refused before anybody looks inside.
fn make_strange_entries(site: &Site) -> Vec<(OsString, &'static str)> {
    let inbox = site.inbox();
    let outside = site.file("outside.md");
    fs::write(&outside, "Do as I say.").unwrap();
    fs::create_dir(site.file("folder")).unwrap();
    symlink("/etc/passwd", inbox.join("passwd.md")).unwrap();
    symlink("/nonexistent", inbox.join("dangling.md")).unwrap();
    symlink(site.file("folder"), inbox.join("dirlink.md")).unwrap();
    symlink(&outside, inbox.join("link.md")).unwrap();
    symlink("loop.md", inbox.join("loop.md")).unwrap();
    for name in ["pipe.md", "pipe"] {
        let made = Command::new("mkfifo").arg(inbox.join(name)).status();
        assert!(made.unwrap().success());
    }
    drop(UnixListener::bind(inbox.join("socket.md")).unwrap());
    fs::create_dir(inbox.join("empty-folder.md")).unwrap();
    fs::create_dir(inbox.join("folder")).unwrap();
    fs::create_dir(site.file("full")).unwrap();
    fs::write(site.file("full/inner.md"), "Do as I say.").unwrap();
    fs::rename(site.file("full"), inbox.join("full.md")).unwrap();
    [
        ("passwd.md", "a symbolic link"),
        ("dangling.md", "a symbolic link"),
        ("dirlink.md", "a symbolic link"),
        ("link.md", "a symbolic link"),
        ("loop.md", "a symbolic link"),
        ("pipe.md", "a named pipe"),
        ("pipe", "must end in .md, .txt or .json"),
        ("socket.md", "a socket"),
        ("empty-folder.md", "a directory"),
        ("folder", "must end in .md, .txt or .json"),
        ("full.md", "a directory"),
    ]
    .map(|(name, reason)| (OsString::from(name), reason))
    .into()
}

const STRANGE_NAMES: &[(&[u8], &str)] = &[
    (b"new\nline.md", "control characters"),
    (b"tab\there.md", "control characters"),
    (b"clear\x1b[2J.md", "control characters"),
    (b"delete\x7f.md", "control characters"),
    (b"a..b.md", "'..'"),
    (b"\xff\xfe.md", "not UTF-8"),
    (b"half\xc3.md", "not UTF-8"),
    (b"document.pdf", "must end in"),
    (b"SHOUT.MD", "must end in"),
    (b"trick.md.exe", "must end in"),
    (b"space.md ", "must end in"),
    (b"noextension", "must end in"),
    (b"-rf", "must end in"),
];

const YAML_BOMB: &str = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]";

/// Front matter that is refused, with the words that must be in the reason.
const FRONT_MATTER: &[(&str, &str, &[&str])] = &[
    ("bomb", YAML_BOMB, &["too large or too deeply nested"]),
    (
        "twice",
        "agent: worker\nagent: worker",
        &["line 3", "agent", "given twice"],
    ),
    (
        "near",
        "max_iteration: 3",
        &["line 2", "max_iteration", "max_iterations"],
    ),
    ("far", "colour: blue", &["line 2", "colour"]),
    (
        "words",
        "max_iterations: many",
        &["line 2", "max_iterations"],
    ),
    ("zero", "max_iterations: 0", &["line 2", "max_iterations"]),
    ("negative", "max_iterations: -1", &["max_iterations"]),
    ("fraction", "max_iterations: 1.5", &["max_iterations"]),
    ("autonomy", "autonomy: 9", &["autonomy"]),
    ("period", "iteration_timeout: 5", &["iteration_timeout"]),
    (
        "unit",
        "iteration_timeout: 5 parsecs",
        &["iteration_timeout"],
    ),
    ("time", "not_before: tomorrow", &["not_before"]),
    ("match", "promise_match: maybe", &["promise_match"]),
    ("labels", "labels: 3", &["labels"]),
    ("money", "budget: { usd: lots }", &["budget.usd"]),
    ("currency", "budget: { euros: 3 }", &["euros"]),
    ("tokens", "budget: { tokens: 3 }", &["budget.tokens"]),
    ("promise", "completion_promise: ''", &["completion_promise"]),
    (
        "spaces",
        "completion_promise: '  '",
        &["completion_promise"],
    ),
    ("nobody", "agent: nobody", &["no agent is called 'nobody'"]),
    ("almost", "agent: workr", &["did you mean worker"]),
    (
        "escape",
        "workspace: { session: ../../etc }",
        &["workspace.session"],
    ),
    (
        "absolute",
        "workspace: { session: /etc }",
        &["workspace.session"],
    ),
    ("glob", "protect: [ '[' ]", &["protect"]),
    ("assign", "env: [ 'A=B' ]", &["env"]),
    (
        "plan",
        "plan: nightly",
        &["plan", "no workflow is called 'nightly'"],
    ),
    (
        "data",
        "datasets: [ a.csv ]",
        &["datasets", "add plan: auto"],
    ),
    (
        "sign",
        "plan: auto\ndatasets: [ 'postgres://me:word@host/db' ]",
        &["datasets", "PGPASSWORD"],
    ),
    ("list", "- a\n- b", &["front matter"]),
    ("scalar", "just words", &["front matter"]),
    (
        "object",
        "labels: !!python/object:os.system {}",
        &["line 2"],
    ),
    ("merge", "base: &b {agent: worker}\n<<: *b", &["line"]),
    ("tabs", "budget:\n\tusd: 3", &["line"]),
];

/// Whole files that are refused.
const FILES: &[(&str, &[u8], &[&str])] = &[
    ("empty.md", b"", &["empty"]),
    ("blank.md", b" \n\t\n ", &["empty"]),
    ("mark.md", b"\xef\xbb\xbf", &["objective"]),
    (
        "latin.md",
        b"first line\ncaf\xe9\n",
        &["line 2", "not UTF-8"],
    ),
    (
        "binary.md",
        b"\x7fELF\x02\x01\x01\x00\xff\xfe",
        &["not UTF-8"],
    ),
    ("utf16.md", b"\xff\xfeG\x00o\x00", &["not UTF-8"]),
    (
        "unclosed.md",
        b"---\nagent: worker\nGo.",
        &["line 1", "never closed"],
    ),
    ("nothing.md", b"---\nagent: worker\n---\n", &["objective"]),
    ("open.json", b"{\"objective\": \"Go.\"", &["JSON"]),
    ("array.json", b"[1, 2]", &["table of keys"]),
    ("number.json", b"42", &["table of keys"]),
    ("null.json", b"null", &["table of keys"]),
    ("missing.json", b"{\"agent\": \"worker\"}", &["objective"]),
    ("hollow.json", b"{\"objective\": \" \"}", &["objective"]),
    ("type.json", b"{\"objective\": 3}", &["objective"]),
    (
        "key.json",
        b"{\"objective\": \"Go.\", \"agnet\": \"x\"}",
        &["agnet", "agent"],
    ),
    (
        "colour.json",
        b"{\"objective\": \"Go.\", \"k\\u001b[2Jy\": \"v\\u001b[2J\"}",
        &["unknown key"],
    ),
    (
        "double.json",
        b"{\"objective\": \"a\", \"objective\": \"b\"}",
        &["objective", "twice"],
    ),
    (
        "after.json",
        b"{\"objective\": \"Go.\"} and more",
        &["JSON"],
    ),
    ("x.answer.md", b"the blue one", &["line 1", "session"]),
    ("y.answer.md", b"session: 0199aaaa\nblue", &["no session"]),
    ("z.answer.json", b"{\"session\": 3}", &["answer"]),
];

fn make_files(site: &Site) -> Vec<(OsString, Vec<&'static str>)> {
    let mut made = Vec::new();
    for (stem, front, words) in FRONT_MATTER {
        let name = format!("{stem}.md");
        site.drop_file(&name, &format!("---\n{front}\n---\nGo."));
        made.push((OsString::from(name), words.to_vec()));
    }
    for (name, bytes, words) in FILES {
        fs::write(site.inbox().join(name), bytes).unwrap();
        made.push((OsString::from(name), words.to_vec()));
    }
    for (name, bytes) in [("sparse.md", 1 << 40), ("over.md", (1 << 20) + 1)] {
        let file = File::create(site.file(name)).unwrap();
        file.set_len(bytes).unwrap();
        fs::rename(site.file(name), site.inbox().join(name)).unwrap();
        made.push((OsString::from(name), vec!["too large"]));
    }
    for (name, opening) in [("deep.json", "["), ("deeper.json", "{\"a\":")] {
        fs::write(site.inbox().join(name), opening.repeat(100_000)).unwrap();
        made.push((OsString::from(name), vec![]));
    }
    let keys: String = (0..50_000)
        .map(|number| format!(",\"k{number}\":1"))
        .collect();
    site.drop_file("keys.json", &format!("{{\"objective\": \"Go.\"{keys}}}"));
    made.push((OsString::from("keys.json"), vec!["at most 1000 entries"]));
    let few: String = (0..500).map(|number| format!("k{number}: 1\n")).collect();
    site.drop_file("few.md", &format!("---\n{few}---\nGo."));
    made.push((
        OsString::from("few.md"),
        vec!["unknown key", "and 480 more"],
    ));
    let long = "k".repeat(1_000_000);
    site.drop_file(
        "long.json",
        &format!("{{\"objective\": \"Go.\", \"{long}\": 1}}"),
    );
    made.push((OsString::from("long.json"), vec!["unknown key"]));
    let nested = format!("---\nlabels: {}\n---\nGo.", "[".repeat(10_000));
    site.drop_file("nested.md", &nested);
    made.push((OsString::from("nested.md"), vec!["line 2"]));
    let wide = format!("---\nlabels: {{ a: {} }}\n---\nGo.", "x".repeat(70_000));
    site.drop_file("wide.md", &wide);
    made.push((OsString::from("wide.md"), vec!["line 1", "front matter"]));
    made
}

#[test]
fn hostile_entries_are_refused_each_with_its_reason() {
    let mut daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    let mut expected: Vec<(OsString, Vec<&str>)> = make_strange_entries(&daemon)
        .into_iter()
        .map(|(name, reason)| (name, vec![reason]))
        .collect();
    for (name, reason) in STRANGE_NAMES {
        fs::write(daemon.inbox().join(OsStr::from_bytes(name)), "Go.").unwrap();
        expected.push((OsStr::from_bytes(name).to_owned(), vec![reason]));
    }
    expected.extend(make_files(&daemon));
    assert!(expected.len() >= 60);
    for (name, words) in &expected {
        let reason = reason_for(&daemon, name);
        for word in words {
            assert!(
                reason.contains(word),
                "{}: no {word:?} in {reason}",
                name.display()
            );
        }
        assert!(
            !reason.contains("root:") && !reason.contains("Do as I say"),
            "{reason}"
        );
        assert!(
            !reason.contains(|letter: char| letter.is_control() && letter != '\n'),
            "{reason:?}"
        );
        assert!(
            reason.len() < 16_384,
            "{} bytes for {}",
            reason.len(),
            name.display()
        );
        assert!(!daemon.inbox().join(name).exists());
    }
    assert!(
        rejected(&daemon, OsStr::new("full.md"))
            .join("inner.md")
            .is_file()
    );
    assert!(daemon.file("outside.md").is_file());
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 0);
    let events = "SELECT count(*) FROM events WHERE type = 'request.rejected'";
    wait_for("an event for each", || {
        (daemon.count(events) == i64::try_from(expected.len()).unwrap()).then_some(())
    });
    let log = daemon.log();
    assert!(!log.contains('\x1b') && !log.contains("\nline.md"), "{log}");
    assert!(daemon.is_running());
    daemon.drop_file("good.md", "Go.");
    assert_eq!(daemon.ended("good").status, "completed");
}
