//! Who is let in: tokens and their scopes, this machine without any, and no web page in a browser on it.

use super::{done_at_once, for_later, submit, token};
use crate::support::http::Http;
use crate::support::{Daemon, Site, wait_for};
use serde_json::json;

#[test]
fn a_token_opens_what_its_scopes_say() {
    let daemon = done_at_once();
    let http = daemon.http();
    let id = submit(&http, &for_later("Paint."));
    let act = format!("/v1/sessions/{id}/tell");
    let bearers = ["read", "submit", "act"].map(|scope| {
        let token = token(&daemon, &["--scope", scope]);
        (scope, http.bearing(&token))
    });
    let look = |caller: &Http| caller.get(&format!("/v1/sessions/{id}"));
    let hand_in = |caller: &Http| caller.post("/v1/sessions", &for_later("More."));
    let tell = |caller: &Http| caller.post(&act, &json!({ "text": "Hm." }));
    for (scope, caller) in &bearers {
        for (needed, answer) in [
            ("read", look(caller)),
            ("submit", hand_in(caller)),
            ("act", tell(caller)),
        ] {
            if needed == *scope {
                assert!(answer.status < 300, "{scope}: {answer:?}");
            } else {
                let detail = answer.refused(403);
                assert!(detail.contains(&format!("--scope {needed}")), "{detail}");
            }
        }
    }
    let two = token(&daemon, &["--scope", "read", "--scope", "act"]);
    let caller = http.bearing(&two);
    look(&caller).expect(200);
    tell(&caller).expect(200);
    hand_in(&caller).refused(403);
    let all = http.bearing(&token(&daemon, &[]));
    look(&all).expect(200);
    hand_in(&all).expect(202);
    // Where it does not matter who asks, nobody needs one.
    http.get("/healthz").expect(200);
    http.get("/openapi.json").expect(200);
}

#[test]
fn what_is_no_token_opens_nothing() {
    let daemon = done_at_once();
    let http = daemon.http();
    submit(&http, &for_later("As long as there is none."));
    let good = token(&daemon, &[]);
    wait_for("a token to be needed", || {
        (http.get("/v1/sessions").status == 401).then_some(())
    });
    for shown in [
        "".to_owned(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer ralphd_0".to_owned(),
        format!("Bearer {good}x"),
        format!("Bearer {}", good.to_uppercase()),
        format!("Basic {good}"),
        good.clone(),
    ] {
        let answer = http.with("authorization", &shown).get("/v1/sessions");
        assert_eq!(answer.headers["www-authenticate"], "Bearer", "{shown}");
        let detail = answer.refused(401);
        assert!(!detail.contains(&good), "{detail}");
    }
    let answer = http.with("authorization", &format!("bearer {good}"));
    answer.get("/v1/sessions").expect(200);
    // Only its hash is kept, and nothing of it is said.
    let kept = std::fs::read(daemon.state().join("ralphd.db")).unwrap();
    let wal = std::fs::read(daemon.state().join("ralphd.db-wal")).unwrap();
    let has = |bytes: &[u8]| {
        bytes
            .windows(good.len())
            .any(|part| part == good.as_bytes())
    };
    assert!(!has(&kept) && !has(&wal));
    assert!(!daemon.log().contains(&good));
    let listed = daemon.ralphd(&["token", "list", "--json"]).done();
    assert!(
        !listed.contains(&good) && listed.contains("tester"),
        "{listed}"
    );
}

#[test]
fn a_revoked_or_expired_token_opens_nothing_and_neither_opens_the_door() {
    let daemon = done_at_once();
    let http = daemon.http();
    let revoked = token(&daemon, &[]);
    let expiring = daemon
        .ralphd(&["token", "new", "brief", "--expires", "1s"])
        .done();
    http.bearing(&revoked).get("/v1/sessions").expect(200);
    daemon.ralphd(&["token", "revoke", "tester"]).done();
    for (which, shown) in [("revoked", revoked.as_str()), ("expired", expiring.trim())] {
        wait_for(&format!("the {which} token to be refused"), || {
            let status = http.bearing(shown).get("/v1/sessions").status;
            assert!([200, 401].contains(&status), "{status}");
            (status == 401).then_some(())
        });
    }
    // Time alone must not let everybody in.
    http.get("/v1/sessions").refused(401);
    let revoke = daemon.ralphd(&["token", "revoke", "brief"]);
    assert!(
        revoke.stderr.contains("everybody on this machine"),
        "{revoke:?}"
    );
    wait_for("the door to be open again", || {
        (http.get("/v1/sessions").status == 200).then_some(())
    });
}

#[test]
fn a_token_that_calls_too_often_is_told_when_to_come_again() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    let daemon = Daemon::start(site.configure("[http]\nrequests_per_minute = 3\n"));
    let http = daemon.http();
    for _ in 0..10 {
        http.get("/v1/sessions").expect(200);
    }
    let busy = http.bearing(&token(&daemon, &[]));
    let other = daemon.ralphd(&["token", "new", "other"]).done();
    let mut answers = (0..50).map(|_| busy.get("/v1/sessions"));
    let refused = answers.find(|answer| answer.status != 200).unwrap();
    let wait: u64 = refused.headers["retry-after"].parse().unwrap();
    assert!((1..=21).contains(&wait), "{wait}");
    refused.refused(429);
    http.bearing(other.trim()).get("/v1/sessions").expect(200);
}

#[test]
fn without_a_token_nobody_listens_to_other_machines() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let site = Site::with_worker("echo TASK_COMPLETE");
        let site = site.variable("RALPHD_HTTP__LISTEN", address);
        let refused = site.ralphd(&["serve"]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains("ralphd token new"), "{refused:?}");
        assert_eq!(site.read("state/ralphd.http"), "");
        let shown = token(&site, &["--expires", "1h"]);
        let daemon = Daemon::start(site);
        let mut http = daemon.http();
        let loopback = std::net::IpAddr::from([127, 0, 0, 1]);
        http.address.set_ip(loopback);
        http.get("/v1/sessions").refused(401);
        http.bearing(&shown).get("/v1/sessions").expect(200);
    }
    let nonsense = Site::with_worker("echo").variable("RALPHD_HTTP__LISTEN", "everywhere");
    assert_eq!(nonsense.ralphd(&["serve"]).code, Some(2));
}

#[test]
fn without_a_token_no_web_page_and_nobody_behind_a_proxy_is_answered() {
    let site =
        Site::with_worker("echo TASK_COMPLETE").configure("[http]\nhosts = [\"Ralphd.Lan\"]\n");
    let daemon = Daemon::start(site);
    let http = daemon.http();
    let own = http.address.to_string();
    let port = http.address.port();
    let origin = format!("http://{own}");
    let cases: &[(&[(&str, &str)], u16)] = &[
        (&[("host", &own)], 202),
        (&[("host", &format!("localhost:{port}"))], 202),
        (&[("host", "LOCALHOST")], 202),
        (&[("host", "ralphd.lan:80")], 202),
        (&[("host", &own), ("origin", &origin)], 202),
        (&[("host", &own), ("sec-fetch-site", "same-origin")], 202),
        // A page's own name may lead here, if whoever owns it says so.
        (&[("host", "evil.example")], 403),
        (&[("host", &format!("evil.example:{port}"))], 403),
        (&[("host", "localhost.evil.example")], 403),
        (&[("host", "127.0.0.1.evil.example")], 403),
        (&[("host", "")], 403),
        // A form or a script of a page may post here, and only cannot read the answer.
        (&[("origin", "http://evil.example")], 403),
        (&[("origin", "null")], 403),
        (
            &[("origin", &format!("http://localhost:{}", port ^ 1))],
            403,
        ),
        (&[("sec-fetch-site", "cross-site")], 403),
        (&[("sec-fetch-site", "same-site")], 403),
        // A proxy here makes a stranger look like a neighbour.
        (&[("x-forwarded-for", "203.0.113.7")], 401),
        (&[("forwarded", "for=203.0.113.7")], 401),
        (&[("via", "1.1 proxy")], 401),
    ];
    for (headers, expected) in cases {
        let with = |http: Http, (name, value): &(&str, &str)| http.with(name, value);
        let caller = headers.iter().fold(http.clone(), with);
        let answer = caller.post("/v1/sessions", &for_later("Paint."));
        assert_eq!(answer.status, *expected, "{headers:?}: {answer:?}");
        if *expected >= 400 {
            answer.refused(*expected);
        }
    }
    // Nor may a page look.
    http.with("origin", "http://evil.example")
        .get("/v1/sessions")
        .refused(403);
    http.with("host", "evil.example")
        .get("/v1/sessions")
        .refused(403);
    // Who shows a token may come from wherever it is.
    let caller = http.bearing(&token(&daemon, &[]));
    let caller = caller
        .with("host", "evil.example")
        .with("origin", "http://evil.example");
    let answer = caller.get("/v1/sessions");
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
    answer.expect(200);
}
