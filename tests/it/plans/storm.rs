//! The daemon killed again and again in the middle of a plan of twenty tasks, at moments that only the seed knows.

use super::example::CUSTOMERS;
use super::stage::{Stage, plan, says, shell};
use crate::support::Site;
use serde_json::{Value as Json, json};
use std::time::Duration;

/// Overrides how often the daemon is killed: `RALPHD_TEST_KILLS=100 cargo test plans::storm`.
const KILLS_VARIABLE: &str = "RALPHD_TEST_KILLS";
const KILLS: usize = 15;
const TASKS: u32 = 20;

fn kills() -> usize {
    let given = std::env::var(KILLS_VARIABLE).ok();
    given.map_or(KILLS, |text| {
        text.parse().expect("RALPHD_TEST_KILLS is a number")
    })
}

/// A task whose command fails the first time.
const FAILS_ONCE: u32 = 9;

/// Five rounds of four tasks of different kinds; each round builds on the one before.
fn tasks(here: &str) -> Json {
    let round = |first: u32| {
        let before: Vec<u32> = (first > 1).then(|| first - 1).into_iter().collect();
        let fails = match first == FAILS_ONCE {
            true => format!("[ -e {here}/once ] || {{ touch {here}/once; exit 1; }};"),
            false => String::new(),
        };
        let command = format!(
            "echo x >>{here}/effect.{first}; sleep 0.1; {fails} echo {{\\\"n\\\": {first}}}"
        );
        [
            shell(first, &before, &command),
            json!({"order": first + 1, "type": "sql_aggregate", "description": "Ask", "depends_on": [first],
                "sql": format!("SELECT count(*) + {{{{dep.{first}.json.n}}}} AS n FROM customers")}),
            json!({"order": first + 2, "type": "analysis", "description": "Think", "depends_on": [first]}),
            json!({"order": first + 3, "type": "transform", "description": "Add", "depends_on": [first + 1, first + 2],
                "filter": format!(".\"{}\".n + .\"{}\".decision", first + 1, first + 2)}),
        ]
    };
    (1..=TASKS).step_by(4).flat_map(round).collect()
}

/// What each session of the storm is asked, with effects of its own.
fn submit(stage: &Stage, name: &str, customers: &str) {
    let here = stage.file(name);
    std::fs::create_dir(&here).unwrap();
    let sums_up = r#"grep -A 3 '^\[TASK 20' | grep -o '^[0-9]*$'"#;
    let thinks = r#"sleep 0.05; echo '{"decision": 1000, "reasoning": "r", "confidence": "high"}'"#;
    let here = here.display().to_string();
    let case = stage.case(name).front(&format!(
        "datasets: [{customers}]\nverify: test -e {here}/made"
    ));
    // The verification refutes the first plan, and what is added to it makes it right.
    let added = plan(json!([shell(
        TASKS + 1,
        &[],
        &format!("echo x >>{here}/made")
    )]));
    let plans = (says(&plan(tasks(&here))), says(&added));
    let case = case.plays(
        "planner",
        &format!(
            "if grep -q 'Begin with 1;'; then\n{}else\n{}fi",
            plans.0, plans.1
        ),
    );
    case.plays("summarizer", sums_up)
        .plays("analyst", thinks)
        .submit();
}

#[test]
fn every_task_is_done_exactly_once_through_a_storm_of_kills() {
    let site = Site::new();
    std::fs::write(site.file("customers.csv"), CUSTOMERS).unwrap();
    let customers = site.file("customers.csv").display().to_string();
    let mut stage = Stage::on(
        site,
        "lease = \"1s\"\nheartbeat = \"200ms\"\n[planner]\nmax_tasks = 20\n",
    );
    let mut names = Vec::new();
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    for number in 0..kills() {
        if number % KILLS == 0 {
            names.push(format!("storm{number}"));
            submit(&stage, &names[names.len() - 1], &customers);
        }
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        // The moment of the kill is the input of this test, not a way to wait for anything.
        std::thread::sleep(Duration::from_millis(10 + seed % 290));
        stage.kill9();
        stage.spawn_again();
    }
    stage.wait_until_ready();
    names
        .iter()
        .for_each(|name| assert_exactly_once(&stage, name));
    stage.assert_nothing_runs();
}

fn assert_exactly_once(stage: &Stage, name: &str) {
    let session = stage.ended(name);
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(session.answer(), "1021");
    let tasks = stage.tasks(&session);
    assert_eq!(tasks.len(), TASKS as usize + 1);
    for task in &tasks {
        let retries = i64::from(task["order"] == FAILS_ONCE);
        assert_eq!(
            (&task["status"], &task["retries"]),
            (&json!("completed"), &json!(retries)),
            "{task}"
        );
        let once = "SELECT count(*) FROM events WHERE task_id = ?1 AND type = 'task.completed'";
        assert_eq!(
            stage.cell::<i64>(once, [task["id"].as_str().unwrap()]),
            Some(1),
            "{task}"
        );
    }
    for first in (1..=TASKS).step_by(4) {
        let times = if first == FAILS_ONCE { 2 } else { 1 };
        let effect = stage.read(&format!("{name}/effect.{first}"));
        assert_eq!(
            effect,
            "x\n".repeat(times),
            "how often the command of task {first} ran"
        );
    }
    assert_eq!(stage.read(&format!("{name}/made")), "x\n");
    let told = ["plan.saved", "plan.called_back", "plan.completed"]
        .map(|kind| stage.events(&session, kind));
    assert_eq!(told, [2, 1, 1]);
    assert_eq!(
        (
            stage.decisions(&session).as_str(),
            session.verified.as_deref()
        ),
        ("retry", Some("verified"))
    );
    let counts = "SELECT completed_task_count FROM sessions WHERE id = ?1";
    assert_eq!(
        stage.cell::<i64>(counts, [&session.id]),
        Some(i64::from(TASKS) + 1)
    );
}
