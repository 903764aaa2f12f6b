//! Looking: lists with filters and pages, one session with its tasks and iterations, and ids that are short, wrong or not enough.

use super::{done_at_once, for_later, submit};
use crate::support::{Daemon, Site, wait_for};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

fn ids(page: &Json) -> Vec<String> {
    let sessions = page["sessions"].as_array().unwrap();
    let id = |session: &Json| session["id"].as_str().unwrap().to_owned();
    sessions.iter().map(id).collect()
}

#[test]
fn pages_hold_every_session_once_whatever_comes_meanwhile() {
    let daemon = done_at_once();
    let http = daemon.http();
    let mut made: Vec<String> = (0..7)
        .map(|_| submit(&http, &for_later("Paint.")))
        .collect();
    made.reverse();
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = http
            .get(&format!("/v1/sessions?limit=3{cursor}"))
            .expect(200);
        seen.extend(ids(&page));
        submit(&http, &for_later("Comes meanwhile."));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, made);
    let whole = http.get("/v1/sessions?limit=200").expect(200);
    assert_eq!(ids(&whole).len(), 10);
    assert_eq!(whole["next"], Json::Null);
}

#[test]
fn a_page_does_not_grow_with_what_it_lists() {
    let daemon = done_at_once();
    let http = daemon.http();
    let long = "so many words ".repeat(60_000);
    for _ in 0..8 {
        submit(&http, &for_later(&long));
    }
    let (mut seen, mut cursor) = (BTreeSet::new(), String::new());
    loop {
        let answer = http.get(&format!("/v1/sessions?limit=200{cursor}"));
        assert!(answer.body.len() < 8 << 20, "{}", answer.body.len());
        let page = answer.expect(200);
        seen.extend(ids(&page));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 8);
    assert!(!cursor.is_empty(), "it was more than one page");
}

#[test]
fn filters_take_what_fits_and_nothing_else() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE").agent("other", "exit 3"));
    let http = daemon.http();
    let labelled = |labels: Json| {
        let mut request = for_later("Paint.");
        request["labels"] = labels;
        submit(&http, &request)
    };
    let one = labelled(json!({ "team": "infra", "x/y.z": "a=b" }));
    let two = labelled(json!({ "team": "web" }));
    let done = http.post("/v1/sessions?wait=600", &json!({ "objective": "Go." }));
    let done = done.expect(200)["id"].as_str().unwrap().to_owned();
    let other =
        json!({ "objective": "Go.", "agent": "other", "not_before": "2099-01-01T00:00:00Z" });
    let other = submit(&http, &other);
    daemon.drop_file("dropped.json", &for_later("Dropped.").to_string());
    let dropped = daemon.in_state("dropped", "created").id;
    let at = "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', created_at_ms / 1000.0, 'unixepoch') FROM sessions WHERE id = ?1";
    let at: String = daemon.cell(at, [&two]).unwrap();
    let all = [&dropped, &other, &done, &two, &one];
    for (filter, expected) in [
        ("", &all[..]),
        ("status=completed", &[&done]),
        ("status=created", &[&dropped, &other, &two, &one]),
        ("status=failed", &[]),
        ("agent=other", &[&other]),
        ("agent=nobody", &[]),
        ("trigger=inbox", &[&dropped]),
        ("trigger=api&agent=worker", &[&done, &two, &one]),
        ("label=team=infra", &[&one]),
        ("label=team%3Dweb", &[&two]),
        ("label=x/y.z=a=b", &[&one]),
        ("label=team=", &[]),
        ("status=created&label=team=web&limit=1", &[&two]),
        ("since=2099-01-01T00:00:00Z", &[]),
        ("until=2099-01-01T00:00:00%2B01:00", &all),
        (&format!("since={at}"), &all[..4]),
        (&format!("until={at}"), &all[4..]),
    ] {
        let page = http.get(&format!("/v1/sessions?{filter}")).expect(200);
        let expected: Vec<String> = expected.iter().map(|id| (*id).clone()).collect();
        assert_eq!(ids(&page), expected, "{filter}");
    }
    for (filter, word) in [
        ("status=done", "one of created, discovering"),
        ("trigger=mail", "one of inbox, cron"),
        ("label=team", "name=value"),
        ("label=te%22am=x", "label: the name"),
        ("since=yesterday", "a time such as"),
        ("limit=0", "from 1 to 200"),
        ("limit=201", "from 1 to 200"),
        ("limit=9999999999999999999", "from 1 to 200"),
        ("cursor=%27", "cursor: must be the `next`"),
        ("order=asc", "unknown parameter 'order'"),
        ("limit=1&limit=2", "more than once"),
    ] {
        let detail = http.get(&format!("/v1/sessions?{filter}")).refused(422);
        assert!(detail.contains(word), "{filter}: {detail}");
    }
}

#[test]
fn one_session_with_its_tasks_and_iterations() {
    let daemon = Daemon::start(Site::with_worker(
        r#"echo "turn $TURNS"; [ "$TURNS" -lt 3 ] || echo TASK_COMPLETE"#,
    ));
    let http = daemon.http();
    let done = http.post("/v1/sessions?wait=600", &json!({ "objective": "Paint." }));
    let id = done.expect(200)["id"].as_str().unwrap().to_owned();
    let short = &id[id.len() - 8..];
    for given in [id.as_str(), short, &id.to_uppercase(), &id[..20]] {
        let shown = http.get(&format!("/v1/sessions/{given}")).expect(200);
        assert_eq!(shown["id"], id.as_str());
        assert_eq!(shown["iteration_count"], 3);
        assert_eq!(shown["questions"], json!([]));
    }
    let tasks = http.get(&format!("/v1/sessions/{short}/tasks")).expect(200);
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 1, "{tasks}");
    assert_eq!(tasks["tasks"][0]["status"], "completed");
    assert_eq!(tasks["tasks"][0]["task_type"], "agent");

    let path = format!("/v1/sessions/{id}/iterations?limit=2");
    let first = http.get(&path).expect(200);
    let numbers = |page: &Json| -> Vec<i64> {
        let iterations = page["iterations"].as_array().unwrap().iter();
        iterations
            .map(|one| one["number"].as_i64().unwrap())
            .collect()
    };
    assert_eq!((numbers(&first), &first["next"]), (vec![1, 2], &json!(2)));
    assert_eq!(first["iterations"][0]["verdict"], "unfinished");
    let last = http.get(&format!("{path}&cursor=2")).expect(200);
    assert_eq!((numbers(&last), &last["next"]), (vec![3], &Json::Null));
    assert_eq!(last["iterations"][0]["verdict"], "promised");
}

#[test]
fn ids_that_no_session_or_several_answer_to() {
    let daemon = done_at_once();
    let http = daemon.http();
    let (one, two) = (
        submit(&http, &for_later("One.")),
        submit(&http, &for_later("Two.")),
    );
    let detail = http.get("/v1/sessions/0").refused(404);
    assert!(detail.contains(&one) && detail.contains(&two), "{detail}");
    for id in ["ffffffff", "%27%20OR%201=1", "x", "..", "%00", "a%2Fb"] {
        for below in ["", "/tasks", "/iterations", "/events"] {
            let detail = http.get(&format!("/v1/sessions/{id}{below}")).refused(404);
            assert!(detail.contains("no session"), "{detail}");
        }
        for verb in ["pause", "cancel", "retry", "continue", "approve"] {
            let answer = http.post(&format!("/v1/sessions/{id}/{verb}"), &json!({}));
            answer.refused(404);
        }
    }
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 2);
}

#[test]
fn a_daemon_that_is_there_and_ready_says_so_to_everybody() {
    let mut daemon = done_at_once();
    let http = daemon.http();
    for path in ["/healthz", "/readyz"] {
        let health = http.with("host", "anything.example").get(path).expect(200);
        assert_eq!(health["status"], "ok");
        assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    }
    daemon.terminate();
    assert_eq!(
        daemon.read("state/ralphd.http"),
        "",
        "nobody listens any more"
    );
    wait_for("the port to be closed", || {
        std::net::TcpStream::connect(http.address).err()
    });
}
