//! The kinds of targets: each gets what it understands, and no markup of an agent's making.

use super::{all_told, done_at_once, shown};
use crate::support::receiver::{Receiver, Reply};
use crate::support::{Daemon, Site, is_alive, wait_for};
use serde_json::Value as Json;

const JOB: &str = "---\nnotify: [ops]\n---\nPaint <!channel> & the door.";

fn told_by(site: Site, target: &str) -> Site {
    site.configure(&format!("[notify.ops]\n{target}\n"))
}

#[test]
fn a_webhook_gets_the_json() {
    let receiver = Receiver::start();
    let target = format!(
        "kind = \"webhook\"\nurl = \"{}\"\nallow_private = true",
        receiver.url("/hook")
    );
    let daemon = Daemon::start(told_by(done_at_once(), &target));
    daemon.drop_file("door.md", JOB);
    let session = daemon.ended("door");
    all_told(&daemon, 1);
    let one = &receiver.received()[0];
    assert_eq!(one.path, "/hook");
    assert_eq!(one.json()["data"]["session_id"], session.id.as_str());
}

#[test]
fn ntfy_gets_its_own_json_and_a_token() {
    let receiver = Receiver::start();
    let url = receiver.url("/mine");
    let target = format!(
        "kind = \"ntfy\"\nurl = \"{url}\"\nallow_private = true\ntoken_env = \"PUSH\"\nclick = \"https://a.example/{{id}}\""
    );
    let site = told_by(done_at_once(), &target).variable("PUSH", "tk_0123456789");
    let daemon = Daemon::start(site);
    daemon.drop_file("door.md", JOB);
    let session = daemon.ended("door");
    all_told(&daemon, 1);
    let one = &receiver.received()[0];
    assert_eq!(one.path, "/");
    assert_eq!(one.headers["authorization"], "Bearer tk_0123456789");
    assert!(!one.headers.contains_key("title"));
    let body = one.json();
    assert_eq!(body["topic"], "mine");
    assert_eq!(body["title"], "Completed: Paint <!channel> & the door.");
    assert_eq!(body["tags"][0], "white_check_mark");
    assert_eq!(body["click"], format!("https://a.example/{}", session.id));
    assert!(body["message"].as_str().unwrap().contains("It is done."));
}

#[test]
fn slack_gets_a_line_that_calls_nobody_and_its_address_is_a_secret() {
    let receiver = Receiver::answering(|number, _| if number == 1 { 500 } else { 200 }.into());
    let url = receiver.url("/services/T0/B0/verysecretpart");
    let target =
        "kind = \"slack\"\nurl_env = \"SLACK_ADDRESS\"\nallow_private = true\nbackoff = \"5ms\"";
    let site = told_by(done_at_once(), target).variable("SLACK_ADDRESS", &url);
    let daemon = Daemon::start(site);
    daemon.drop_file("door.md", JOB);
    let session = daemon.ended("door");
    all_told(&daemon, 1);
    let text = receiver.accepted()[0].json()["text"].to_string();
    assert!(
        text.contains("Paint &lt;!channel&gt; &amp; the door."),
        "{text}"
    );
    assert!(!text.contains('<'), "{text}");
    let shown = daemon.ralphd(&["show", &session.id, "--json"]).done();
    assert!(!shown.contains("verysecretpart") && !daemon.log().contains("verysecretpart"));
}

#[test]
fn a_program_gets_it_on_stdin_in_a_clean_environment() {
    let site = done_at_once().variable("SECRET_OF_OURS", "unseen");
    let script = site.file("tell.sh");
    let here = site.root().display().to_string();
    std::fs::write(
        &script,
        format!("cat >'{here}/told.json'; env >'{here}/told.env'"),
    )
    .unwrap();
    let target = format!(
        "kind = \"exec\"\ncommand = [\"/bin/sh\", \"{}\"]",
        script.display()
    );
    let daemon = Daemon::start(told_by(site, &target));
    daemon.drop_file("door.md", JOB);
    let session = daemon.ended("door");
    all_told(&daemon, 1);
    let told: Json = serde_json::from_str(&daemon.read("told.json")).unwrap();
    assert_eq!(told["data"]["answer"], "It is done.");
    let environment = daemon.read("told.env");
    assert!(environment.contains(&format!("RALPHD_SESSION_ID={}", session.id)));
    assert!(environment.contains("RALPHD_OCCASION=ended"));
    assert!(!environment.contains("unseen"), "{environment}");
}

#[test]
fn a_program_that_hangs_is_ended_with_all_it_started() {
    let site = done_at_once();
    let script = site.file("tell.sh");
    let pids = site.file("pids").display().to_string();
    std::fs::write(
        &script,
        format!("echo $$ >>'{pids}'; setsid sleep 1000 & echo $! >>'{pids}'; wait"),
    )
    .unwrap();
    let target = format!(
        "kind = \"exec\"\ncommand = [\"/bin/sh\", \"{}\"]\ntimeout = \"300ms\"\nbackoff = \"1h\"",
        script.display()
    );
    let daemon = Daemon::start(told_by(site, &target));
    daemon.drop_file("door.md", JOB);
    let session = daemon.ended("door");
    let error = wait_for("the first try", || {
        let all = shown(&daemon, &session.id);
        let error = all.first()?["last_error"].as_str()?.to_owned();
        Some(error)
    });
    assert_eq!(error, "it was ended: it took longer than 300ms");
    let pids = daemon.read("pids");
    let pids: Vec<i32> = pids.lines().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    assert!(!pids.into_iter().any(is_alive));
}

#[test]
fn a_slow_target_holds_up_no_other() {
    // It answers when the test is over.
    let slow = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let quick = Receiver::start();
    let target = |name: &str, url: &str| {
        format!(
            "[notify.{name}]\nkind = \"webhook\"\nurl = \"{url}\"\nallow_private = true\ntimeout = \"1h\"\n"
        )
    };
    let slow_url = format!("http://{}/", slow.local_addr().unwrap());
    let site = done_at_once()
        .configure(&target("slow", &slow_url))
        .configure(&target("quick", &quick.url("/")))
        .configure("[queue]\nmax_parallel = 2\n");
    let daemon = Daemon::start(site);
    for number in 0..12 {
        let job = "---\nnotify: [slow, quick]\n---\nGo.";
        daemon.drop_file(&format!("job{number}.md"), job);
    }
    wait_for("the quick one to be told of all", || {
        (quick.accepted().len() == 12).then_some(())
    });
    let owed = "SELECT count(*) FROM notices WHERE target = 'slow' AND status = 'owed'";
    assert_eq!(daemon.count(owed), 12);
}

#[test]
fn a_redirect_is_not_followed() {
    let inner = Receiver::start();
    let location = inner.url("/metadata");
    let outer = Receiver::answering(move |_, _| Reply {
        status: 302,
        headers: vec![("location", location.clone())],
    });
    let target = format!(
        "kind = \"webhook\"\nurl = \"{}\"\nallow_private = true\nbackoff = \"1h\"",
        outer.url("/")
    );
    let daemon = Daemon::start(told_by(done_at_once(), &target));
    daemon.drop_file("door.md", JOB);
    let session = daemon.ended("door");
    let error = wait_for("the first try", || {
        let all = shown(&daemon, &session.id);
        let error = all.first()?["last_error"].as_str()?.to_owned();
        Some(error)
    });
    assert_eq!(
        error,
        "HTTP 302: it redirects, and redirects are not followed"
    );
    assert_eq!(inner.received().len(), 0);
}

#[test]
fn defaults_name_who_is_told_of_every_session() {
    let receiver = Receiver::start();
    let target = format!(
        "kind = \"webhook\"\nurl = \"{}\"\nallow_private = true",
        receiver.url("/")
    );
    let site = told_by(done_at_once(), &target).configure("[defaults]\nnotify = [\"ops\"]\n");
    let daemon = Daemon::start(site);
    daemon.drop_file("door.md", "Paint the door.");
    daemon.ended("door");
    all_told(&daemon, 1);
    assert_eq!(receiver.accepted().len(), 1);
}
