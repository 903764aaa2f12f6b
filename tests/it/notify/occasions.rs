//! What somebody is told of: the end, a question, a pause, a budget that is nearly used up; and what not.

use super::{HERE, all_told, calling_back, done_at_once};
use crate::support::receiver::Receiver;
use crate::support::tools::usage_limit;
use crate::support::{Daemon, Site, wait_for};
use serde_json::Value as Json;

const ASKS: &str = r#"if grep -q 'Answer: blue'; then echo TASK_COMPLETE
else mkdir -p state; echo '{"question": "Which pot?", "options": ["red", "blue"]}' >state/question.json; echo 'I ask.'
fi"#;

fn bodies(receiver: &Receiver) -> Vec<Json> {
    let all = receiver.accepted();
    all.iter().map(|received| received.json()).collect()
}

#[test]
fn a_question_and_then_the_end() {
    let receiver = Receiver::start();
    let daemon = Daemon::start(Site::with_worker(ASKS).configure(HERE));
    daemon.drop_file("door.md", &calling_back(&receiver.url("/")));
    let session = daemon.in_state("door", "awaiting_human");
    all_told(&daemon, 1);
    let asked = &bodies(&receiver)[0];
    assert_eq!(asked["type"], "session.awaiting_human");
    assert_eq!(asked["data"]["status"], "awaiting_human");
    assert_eq!(asked["data"]["question"], "Which pot?");
    assert_eq!(asked["data"]["options"][1], "blue");
    assert_eq!(asked["data"]["answer_to"], session.id.as_str());
    daemon.ralphd(&["answer", &session.id, "blue"]).done();
    daemon.ended("door");
    all_told(&daemon, 2);
    assert_eq!(bodies(&receiver)[1]["type"], "session.ended");
}

#[test]
fn a_usage_limit_parks_and_says_until_when() {
    let receiver = Receiver::start();
    let site = Site::with_worker(&usage_limit("3600"))
        .configure("output = \"claude\"\n")
        .configure(HERE);
    let daemon = Daemon::start(site);
    daemon.drop_file("door.md", &calling_back(&receiver.url("/")));
    all_told(&daemon, 1);
    let parked = &bodies(&receiver)[0];
    assert_eq!(parked["type"], "session.parked");
    assert_eq!(parked["data"]["parked_because"], "usage limit of worker");
    let until: jiff::Timestamp = parked["data"]["parked_until"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let wait = until.as_second() - jiff::Timestamp::now().as_second();
    assert!((3_000..5_000).contains(&wait), "{wait}");
}

#[test]
fn a_short_pause_is_not_worth_a_word() {
    let receiver = Receiver::start();
    let limit = usage_limit("8");
    let say = r#"printf '{"type":"result","subtype":"success","is_error":false,"result":"TASK_COMPLETE","total_cost_usd":0,"usage":{"input_tokens":1,"output_tokens":1}}\n'"#;
    let site = Site::with_worker(&format!("[ $TURNS = 1 ] && {{ {limit}; }}; {say}"))
        .configure("output = \"claude\"\n")
        .configure(HERE);
    let daemon = Daemon::start(site);
    daemon.drop_file("door.md", &calling_back(&receiver.url("/")));
    let session = daemon.ended("door");
    all_told(&daemon, 1);
    assert_eq!(daemon.events(&session, "task.parked"), 1);
    assert_eq!(bodies(&receiver)[0]["type"], "session.ended");
}

#[test]
fn two_thirds_of_a_budget_are_told_once() {
    let receiver = Receiver::start();
    let site = Site::with_worker("echo \"turn $TURNS\"")
        .configure("cost_per_iteration = 1.0\n")
        .configure(HERE);
    let daemon = Daemon::start(site);
    let job = calling_back(&receiver.url("/")).replace("labels", "budget: { usd: 6 }\nlabels");
    daemon.drop_file("door.md", &job);
    let session = daemon.ended("door");
    all_told(&daemon, 2);
    let told = bodies(&receiver);
    let budgets: Vec<&Json> = told
        .iter()
        .filter(|body| body["type"] == "session.budget")
        .collect();
    assert_eq!(budgets.len(), 1);
    let budget = &budgets[0]["data"]["budget"];
    assert_eq!(
        (&budget["kind"], &budget["limit"]),
        (&"usd".into(), &6.0.into())
    );
    assert_eq!(budget["used"], 4.0);
    assert_eq!(daemon.events(&session, "budget.two_thirds"), 1);
}

#[test]
fn a_target_hears_only_what_it_wants() {
    let receiver = Receiver::start();
    let target = format!(
        "[notify.ops]\nkind = \"webhook\"\nurl = \"{}\"\nallow_private = true\non = [\"awaiting_human\"]\n",
        receiver.url("/")
    );
    let daemon = Daemon::start(Site::with_worker(ASKS).configure(&target));
    daemon.drop_file("door.md", "---\nnotify: [ops]\n---\nPaint.");
    let session = daemon.in_state("door", "awaiting_human");
    daemon.ralphd(&["answer", &session.id, "blue"]).done();
    daemon.ended("door");
    daemon.drop_file("gate.md", "---\nnotify: [ops]\n---\nPaint.");
    daemon.in_state("gate", "awaiting_human");
    all_told(&daemon, 2);
    for body in bodies(&receiver) {
        assert_eq!(body["type"], "session.awaiting_human");
    }
}

#[test]
fn of_a_sub_agent_only_its_question_is_told_under_the_name_of_its_head() {
    let receiver = Receiver::start();
    let main = "if grep -q '^\\[SUB-AGENT'; then echo TASK_COMPLETE
        else mkdir -p state; echo '{\"agent\": \"scout\", \"task\": \"Look.\"}' >state/spawn.json; echo 'I have asked.'; fi";
    let site = Site::new()
        .agent("main", main)
        .agent("scout", ASKS)
        .configure(HERE);
    let daemon = Daemon::start(site);
    daemon.drop_file("door.md", &calling_back(&receiver.url("/")));
    all_told(&daemon, 1);
    let head = "SELECT id FROM sessions WHERE parent_session_id IS NULL";
    let head: String = daemon.cell(head, []).unwrap();
    let child = "SELECT id FROM sessions WHERE parent_session_id = ?1";
    let child: String = daemon.cell(child, [&head]).unwrap();
    let asked = &bodies(&receiver)[0]["data"];
    assert_eq!(asked["session_id"], head.as_str());
    assert_eq!(asked["answer_to"], child.as_str());
    daemon.ralphd(&["answer", &child, "blue"]).done();
    all_told(&daemon, 2);
    let types: Vec<Json> = bodies(&receiver)
        .iter()
        .map(|body| body["type"].clone())
        .collect();
    assert_eq!(types, ["session.awaiting_human", "session.ended"]);
}

#[test]
fn secrets_are_masked_in_what_is_told() {
    let receiver = Receiver::start();
    let site = Site::with_worker("echo 'the key is opensesame'; echo TASK_COMPLETE")
        .variable("DOOR_KEY", "opensesame")
        .configure(HERE);
    let daemon = Daemon::start(site);
    daemon.drop_file("door.md", &calling_back(&receiver.url("/")));
    daemon.ended("door");
    all_told(&daemon, 1);
    assert_eq!(
        bodies(&receiver)[0]["data"]["answer"],
        "the key is [masked]"
    );
}

#[test]
fn old_news_is_not_told_after_an_upgrade_and_new_news_is() {
    let receiver = Receiver::start();
    let mut daemon = Daemon::start(done_at_once().configure(HERE));
    daemon.drop_file("door.md", &calling_back(&receiver.url("/")));
    daemon.ended("door");
    all_told(&daemon, 1);
    daemon.terminate();
    // As an older version left it: the same rows, and neither notices nor bookmarks.
    let database = rusqlite::Connection::open(daemon.state().join("ralphd.db")).unwrap();
    database
        .execute_batch(
            "DROP TABLE restore_points; DROP INDEX workspaces_untidy; DROP INDEX workspaces_of_main;
            ALTER TABLE workspaces DROP COLUMN branch; ALTER TABLE workspaces DROP COLUMN main_path;
            ALTER TABLE workspaces DROP COLUMN task_id; ALTER TABLE workspaces DROP COLUMN untidy_session_id;
            ALTER TABLE iterations DROP COLUMN rewound_at_ms; ALTER TABLE sessions DROP COLUMN fork;
            DROP TABLE ticks; DROP INDEX sessions_of_schedules; DROP INDEX deliveries_by_time; DROP INDEX deliveries_of_session;
            ALTER TABLE schedules DROP COLUMN definition; ALTER TABLE schedules DROP COLUMN since_ms;
            ALTER TABLE schedules DROP COLUMN resumed_at_ms;
            DROP TABLE tokens; DROP TABLE notices; DROP TABLE budget_marks; DROP TABLE bookmarks;
            PRAGMA user_version = 5;",
        )
        .unwrap();
    drop(database);
    daemon.restart();
    daemon.drop_file("gate.md", &calling_back(&receiver.url("/")));
    let gate = daemon.ended("gate");
    all_told(&daemon, 1);
    let told = bodies(&receiver);
    assert_eq!(told.len(), 2);
    assert_eq!(told[1]["data"]["session_id"], gate.id.as_str());
}

#[test]
fn a_quiet_daemon_remembers_how_far_it_was() {
    let daemon = Daemon::start(done_at_once());
    let database = rusqlite::Connection::open(daemon.state().join("ralphd.db")).unwrap();
    database
        .execute_batch(
            "PRAGMA busy_timeout = 30000;
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO events (at_ms, type, data) SELECT 0, 'daemon.stopped', '{\"worker\": \"w\"}' FROM n;",
        )
        .unwrap();
    wait_for("the bookmark to move", || {
        let seq = daemon.count("SELECT seq FROM bookmarks WHERE reader = 'notices'");
        (seq >= 3_000).then_some(())
    });
}
