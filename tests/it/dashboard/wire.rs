//! The pages as they come over the wire, for what no browser shows: headers, cookies, refusals, and what an open page is told. They need
//! nothing but the daemon.

use super::{DONE, ENDLESS};
use crate::support::http::{Answer, Http};
use crate::support::{Daemon, Site};
use serde_json::json;

const FORM: &str = "application/x-www-form-urlencoded";

/// The cookie that an answer sets, as a browser sends it back.
fn cookie_of(answer: &Answer) -> &str {
    let set = &answer.headers["set-cookie"];
    set.split(';').next().unwrap()
}

fn proof_in(page: &str) -> &str {
    let (_, rest) = page.split_once("name=\"proof\" value=\"").unwrap();
    rest.split('"').next().unwrap()
}

fn posts(http: &Http, path: &str, body: &str) -> Answer {
    http.with("content-type", FORM)
        .call("POST", path, body.as_bytes())
}

#[test]
fn a_page_says_that_nothing_of_strangers_may_run_in_it() {
    let daemon = Daemon::start(Site::with_worker(DONE));
    let http = daemon.http();
    for path in [
        "/",
        "/new",
        "/schedules",
        "/agents",
        "/costs",
        "/sessions/none",
    ] {
        let page = http.get(path);
        let policy = &page.headers["content-security-policy"];
        assert!(policy.starts_with("default-src 'none'; "), "{path}");
        assert!(
            !policy.contains("unsafe") && !policy.contains('*'),
            "{path}"
        );
        assert_eq!(page.headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(
            page.headers["content-type"], "text/html; charset=utf-8",
            "{path}"
        );
        assert_eq!(page.headers["cache-control"], "no-store", "{path}");
        assert!(
            !page.body.contains(" style=") && !page.body.contains("<script>"),
            "{path}"
        );
    }
    let set = &http.get("/").headers["set-cookie"];
    assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{set}");
}

#[test]
fn a_form_is_taken_with_its_proof_alone() {
    let daemon = Daemon::start(Site::with_worker(DONE));
    let http = daemon.http();
    let page = http.get("/new");
    let browser = http.with("cookie", cookie_of(&page));
    let filled = format!(
        "proof={}&objective=Paint+it.%0D%0ARed.",
        proof_in(&page.body)
    );
    assert_eq!(
        posts(&http, "/new", &filled).status,
        403,
        "without the cookie"
    );
    assert_eq!(posts(&browser, "/new", "proof=x&objective=y").status, 403);
    assert_eq!(posts(&browser, "/new", "objective=y").status, 403);
    let elsewhere = browser.with("origin", "http://evil.example");
    assert_eq!(posts(&elsewhere, "/new", &filled).status, 403);
    let as_json = browser.with("content-type", "application/json");
    assert_eq!(as_json.call("POST", "/new", b"{}").status, 415);
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 0);
    let taken = posts(&browser, "/new", &filled);
    assert_eq!(taken.status, 303, "{taken:?}");
    let id = taken.headers["location"]
        .strip_prefix("/sessions/")
        .unwrap();
    let objective: Option<String> =
        daemon.cell("SELECT objective FROM sessions WHERE id = ?1", [id]);
    assert_eq!(objective.as_deref(), Some("Paint it.\nRed."));
}

#[test]
fn a_cookie_opens_pages_and_nothing_else() {
    let site = Site::with_worker(DONE);
    let token = site.ralphd(&["token", "new", "tester"]).done();
    let daemon = Daemon::start(site);
    let http = daemon.http();
    let led = http.get("/costs?x=1");
    assert_eq!(
        (led.status, led.headers["location"].as_str()),
        (303, "/login?next=%2Fcosts%3Fx%3D1")
    );
    let browser = http.with("cookie", &format!("ralphd_token={}", token.trim()));
    assert_eq!(browser.get("/costs").status, 200);
    browser.get("/v1/sessions").refused(401);
    browser
        .post("/v1/sessions", &json!({ "objective": "x" }))
        .refused(401);
    let wrong = http.with("cookie", "ralphd_token=rd_nothing");
    assert_eq!(wrong.get("/").status, 303);
    daemon.ralphd(&["token", "revoke", "tester"]).done();
    daemon.ralphd(&["token", "new", "another"]).done();
    assert_eq!(browser.get("/costs").status, 303);
}

#[test]
fn where_nothing_is_browsers_get_a_page_and_programs_a_problem() {
    let daemon = Daemon::start(Site::with_worker(DONE));
    let http = daemon.http();
    http.get("/nowhere").refused(404);
    let page = http.with("accept", "text/html,*/*;q=0.8").get("/nowhere");
    assert_eq!(page.status, 404);
    assert!(page.body.contains("All sessions"), "{}", page.body);
}

#[test]
fn what_is_not_there_is_named() {
    let schedule = "[[schedules]]\nname = 'yearly'\ncron = '0 0 1 1 *'\nrequest = 'nowhere.md'\n";
    let worker = "touch done; echo TASK_COMPLETE";
    let daemon = Daemon::start(Site::with_worker(worker).configure(schedule));
    let http = daemon.http();
    daemon.drop_file("door.md", "Paint the door.");
    let session = daemon.ended("door");
    let page = |rest: &str| http.get(&format!("/sessions/{}{rest}", session.id));
    let changes = page("/changes?iteration=1");
    assert_eq!(changes.status, 200);
    assert!(changes.body.contains("done"), "{}", changes.body);
    std::fs::remove_dir_all(&session.workspace).unwrap();
    let front = http.get("/schedules");
    let browser = http.with("cookie", cookie_of(&front));
    let proof = format!("proof={}", proof_in(&front.body));
    for (answer, status, words) in [
        (page("/changes?iteration=1"), 404, "is gone"),
        (page("/changes?iteration=7"), 404, "has no point 7"),
        (page("/log?iteration=7"), 404, "has no iteration 7"),
        (page("?before=x"), 422, "before: must be"),
        (
            posts(&browser, "/schedules/yearly/run", &proof),
            422,
            "nowhere.md",
        ),
        (
            posts(&browser, "/schedules/daily/run", &proof),
            404,
            "daily",
        ),
        (http.get("/?status=sleeping"), 422, "sleeping"),
    ] {
        assert_eq!(answer.status, status, "{}", answer.body);
        assert!(answer.body.contains(words), "{words}: {}", answer.body);
    }
}

#[test]
fn an_open_page_is_told_and_then_shown_the_newest() {
    let daemon = Daemon::start(Site::with_worker(ENDLESS));
    let http = daemon.http();
    let mut stream = http.open("/live");
    let mut told = || {
        let mut line = String::new();
        while line != "event: change" {
            line = stream.line().unwrap();
        }
    };
    let live = http.with("x-live", "1");
    // The first ring says that nothing from now on is missed.
    told();
    assert!(live.get("/").body.contains("No sessions yet"));
    for name in ["door", "roof", "wall"] {
        daemon.drop_file(&format!("{name}.md"), &format!("Paint the {name}."));
        let sees = || live.get("/").body.contains(&format!("Paint the {name}."));
        while !sees() {
            told();
        }
    }
}
