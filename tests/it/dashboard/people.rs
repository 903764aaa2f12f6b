//! What people do at the dashboard: submit, watch, answer, act, search.

use super::browser::browser;
use super::{ASKS, DONE, ENDLESS, PAINTER, SCHEDULES};
use crate::plans::stage::{Stage, shell};
use crate::support::{Daemon, Site};
use serde_json::json;

/// Counts as far as it is let, and begins again.
const COUNTS: &str = r#"lets() { until [ -e "$HERE/$1" ]; do sleep 0.02; done; }
numbers() { seq -f 'number %.0f' "$1" "$2"; }
case $RALPHD_ITERATION in
1) numbers 1 300; lets more; numbers 301 600; lets most; numbers 601 900; lets next; echo 'no more' ;;
*) echo 'once more'; lets never ;;
esac"#;

#[test]
fn a_request_is_submitted_watched_answered_by_a_click_and_completed() {
    let Some(browser) = browser() else { return };
    let daemon = Daemon::start(Site::new().agent("painter", PAINTER));
    browser.play("life", &daemon, &[]);
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 1);
}

#[test]
fn a_session_is_paused_resumed_cancelled_and_begun_again() {
    let Some(browser) = browser() else { return };
    let daemon = Daemon::start(Site::with_worker(ENDLESS));
    daemon.drop_file("fence.md", "Paint the fence.");
    let session = daemon.in_state("fence", "executing");
    browser.play("acts", &daemon, &[("session", &session.id)]);
    assert_eq!(daemon.session(&session.id).unwrap().status, "cancelled");
}

#[test]
fn what_waits_for_a_person_is_answered_approved_and_rejected() {
    let Some(browser) = browser() else { return };
    let stage = Stage::open();
    let asks_openly =
        "if grep -q 'Answer: green, please'; then echo 'It is green.'; echo TASK_COMPLETE
        else mkdir -p state; echo '{\"question\": \"Which colour?\"}' >state/question.json; fi";
    for (case, script) in [("choice", ASKS), ("words", asks_openly)] {
        stage.case(case).plays("plain", script);
        let text = format!("Do what case {case} is about.");
        stage.drop_file(&format!("{case}.md"), &text);
    }
    for case in ["approved", "rejected"] {
        let case = stage.case(case).front("autonomy: 1");
        case.plan(json!([shell(1, &[], "echo one")])).submit();
    }
    let waiting = ["choice", "words", "approved", "rejected"]
        .map(|name| stage.in_state(name, "awaiting_human").id);
    let [_, words, approved, rejected] = &waiting;
    let given = [
        ("words", words.as_str()),
        ("approved", approved),
        ("rejected", rejected),
    ];
    browser.play("waiting", &stage, &given);
}

#[test]
fn the_list_is_live_searched_filtered_and_paged() {
    let Some(browser) = browser() else { return };
    let daemon = Daemon::start(Site::with_worker(DONE));
    let http = daemon.http();
    for number in 1..=120 {
        let objective = format!("Wait number {number}.");
        let request = json!({ "objective": objective, "not_before": "2099-01-01T00:00:00Z" });
        http.post("/v1/sessions", &request).expect(202);
    }
    browser.play("list", &daemon, &[]);
}

#[test]
fn a_refused_request_is_explained_and_kept() {
    let Some(browser) = browser() else { return };
    let daemon = Daemon::start(Site::with_worker(DONE));
    browser.play("mistakes", &daemon, &[]);
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 1);
}

#[test]
fn nobody_is_disturbed_by_what_changes() {
    let Some(browser) = browser() else { return };
    let site = Site::new().agent("counter", COUNTS).agent("quick", DONE);
    let daemon = Daemon::start(site);
    daemon.drop_file("count.md", "Count to a thousand.");
    let session = daemon.in_state("count", "executing");
    browser.play("undisturbed", &daemon, &[("session", &session.id)]);
}

#[test]
fn without_script_everything_is_shown_and_forms_work() {
    let Some(browser) = browser() else { return };
    let site = Site::new()
        .agent("painter", PAINTER)
        .configure("cost_per_iteration = 0.25\n")
        .agent("endless", ENDLESS)
        .configure(SCHEDULES);
    let daemon = Daemon::start(site);
    daemon.drop_file("wait.md", "---\nagent: endless\n---\nWait for it.");
    let session = daemon.in_state("wait", "executing");
    browser.play("without_script", &daemon, &[("session", &session.id)]);
}
