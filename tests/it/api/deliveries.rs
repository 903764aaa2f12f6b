//! Webhooks over the wire: `POST /hooks/NAME` in each of its schemes. What they decide is tried in `hooks/`.

use crate::hooks::{BEARER_SECRET, GITHUB_SECRET, HOOKS, Post, STANDARD_SECRET};
use crate::support::http::{Answer, Http};
use crate::support::{Daemon, Site};
use serde_json::{Value as Json, json};
use std::time::{SystemTime, UNIX_EPOCH};

const BODY: &str = r#"{"text": "once"}"#;

impl Post {
    /// Sends it as a program on this machine does.
    pub fn send(&self, http: &Http, hook: &str) -> Answer {
        let with = |http: Http, (name, value): &(String, String)| http.with(name, value);
        let caller = self.headers.iter().fold(http.clone(), with);
        caller.call("POST", &format!("/hooks/{hook}"), &self.body)
    }
}

fn site(more: &str) -> Site {
    Site::with_worker("cat >\"$HERE/prompt\"; echo TASK_COMPLETE")
        .configure(HOOKS)
        .configure(more)
        .variable("GITHUB_HOOK", GITHUB_SECRET)
        .variable("STANDARD_HOOK", STANDARD_SECRET)
        .variable("BEARER_HOOK", BEARER_SECRET)
}

fn standard(id: &str, body: &str) -> Post {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Post::standard_at(
        STANDARD_SECRET,
        id,
        body,
        i64::try_from(now.as_secs()).unwrap(),
    )
}

#[test]
fn each_scheme_from_the_wire_to_the_end_of_the_session() {
    let daemon = Daemon::start(site(""));
    let http = daemon.http();
    for (hook, post) in [
        ("github", Post::github(GITHUB_SECRET, "g1", BODY)),
        ("standard", standard("s1", BODY)),
        ("bearer", Post::bearer(BEARER_SECRET, BODY)),
        ("open", Post::plain(BODY)),
    ] {
        let taken = post.send(&http, hook).expect(202);
        assert_eq!(taken["status"], "accepted", "{hook}");
        let session = daemon.ended(taken["session_id"].as_str().unwrap());
        assert_eq!(session.status, "completed", "{hook}");
        let shown = http
            .get(&format!("/v1/sessions/{}", session.id))
            .expect(200);
        assert_eq!(shown["trigger"], "webhook", "{hook}");
        assert!(daemon.read("prompt").contains("once"), "{hook}");
    }
    let again = Post::github(GITHUB_SECRET, "g1", BODY)
        .send(&http, "github")
        .expect(200);
    assert_eq!(again["status"], "duplicate");
    assert!(again["session_id"].is_string());
    let ping = Post::github(GITHUB_SECRET, "g2", "{}").changed("x-github-event", Some("ping"));
    let ping = ping.send(&http, "github").expect(200);
    assert_eq!(
        (&ping["status"], &ping["session_id"]),
        (&json!("ignored"), &Json::Null)
    );
}

#[test]
fn one_delivery_a_hundred_times_at_once_is_one_session_with_one_id() {
    let daemon = Daemon::start(site(""));
    let http = daemon.http();
    for (hook, post) in [
        ("github", Post::github(GITHUB_SECRET, "g1", BODY)),
        ("standard", standard("s1", BODY)),
    ] {
        let answers: Vec<(u16, Json)> = std::thread::scope(|scope| {
            let send = || {
                let answer = post.send(&http, hook);
                (answer.status, answer.json()["session_id"].clone())
            };
            let sent: Vec<_> = (0..100).map(|_| scope.spawn(send)).collect();
            sent.into_iter().map(|sent| sent.join().unwrap()).collect()
        });
        let accepted = answers.iter().filter(|(status, _)| *status == 202);
        assert_eq!(accepted.count(), 1, "{hook}");
        let id = &answers[0].1;
        assert!(
            id.is_string() && answers.iter().all(|(_, other)| other == id),
            "{hook}"
        );
    }
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 2);
}

#[test]
fn what_is_not_genuine_is_refused() {
    let daemon = Daemon::start(site(""));
    let http = daemon.http();
    let forged = Post::github("another secret", "g1", BODY);
    let altered = Post {
        body: br#"{"text": "twice"}"#.to_vec(),
        ..Post::github(GITHUB_SECRET, "g1", BODY)
    };
    let stale = Post::standard(STANDARD_SECRET, "s1", BODY);
    for (hook, post) in [
        ("github", Post::plain(BODY)),
        ("github", forged),
        ("github", altered),
        ("standard", stale),
        ("standard", standard("s1", BODY).changed("webhook-id", None)),
        ("bearer", Post::bearer("a-token-that-nobody-knows", BODY)),
        ("bearer", Post::plain(BODY)),
    ] {
        let detail = post.send(&http, hook).refused(401);
        assert!(!detail.contains(GITHUB_SECRET) && !detail.contains(BEARER_SECRET));
    }
    // A page in a browser, or somebody behind a proxy, is no program on this machine.
    for (name, value) in [
        ("origin", "http://evil.example"),
        ("sec-fetch-site", "cross-site"),
        ("x-forwarded-for", "203.0.113.7"),
    ] {
        Post::plain(BODY)
            .with(name, value)
            .send(&http, "open")
            .refused(403);
    }
    Post::plain(BODY).send(&http, "nothing").refused(404);
    Post::plain("{").send(&http, "open").refused(400);
    Post::plain(r#"{"other": 1}"#)
        .send(&http, "open")
        .refused(400);
    http.get("/hooks/open").refused(405);
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 0);
}

#[test]
fn a_hook_has_a_limit_of_its_own_and_needs_no_token() {
    let small = "[hooks.small]\nverify = 'bearer'\nsecret_env = 'BEARER_HOOK'\nmax_bytes = 50\nrequest = { objective = 'Look' }\n";
    let daemon = Daemon::start(site(small));
    let http = daemon.http();
    super::token(&daemon, &[]);
    let fits = format!("{{\"text\": \"{}\"}}", "x".repeat(38));
    assert_eq!(fits.len(), 50);
    let long = fits.replace("x\"", "xx\"");
    Post::bearer(BEARER_SECRET, &fits)
        .send(&http, "small")
        .expect(202);
    let detail = Post::bearer(BEARER_SECRET, &long)
        .send(&http, "small")
        .refused(413);
    assert!(detail.contains("50 bytes"), "{detail}");
    // Whoever cannot prove anything has no larger one.
    Post::plain(&long).send(&http, "small").refused(413);
    Post::bearer(BEARER_SECRET, &long)
        .send(&http, "bearer")
        .expect(202);
}
