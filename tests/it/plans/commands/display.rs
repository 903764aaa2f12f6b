//! What `run` tells of a plan while it is worked through, and `show` after.

use super::{PLAN, json, site};

#[test]
fn a_plan_is_told_while_it_is_worked_through_and_shown_after() {
    let site = site(PLAN);
    let ran = site.ralphd(&["run", "--file", "ask.md"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "There are two customers.\n"),
        "{ran:?}"
    );
    for line in [
        "tables: customers\n",
        "asks planner\n",
        "plan of 4 tasks: Count, then write\n",
        "task 1, sql_aggregate: Count the customers\n",
        "task 1: completed: n = 2\n",
        "task 4: given to scribe, session ",
        "] iteration 1 ended: promised\n",
        "task 4: completed: It is written.\n",
        "all tasks are over\nsums up\nasks teller\n",
    ] {
        assert!(ran.stderr.contains(line), "no {line}: {}", ran.stderr);
    }
    let root = "SELECT id FROM sessions WHERE parent_session_id IS NULL";
    let session = site.ended(&site.cell::<String>(root, []).unwrap());
    let shown = site.ralphd(&["show", &session.id]).done();
    for line in [
        "tasks       4 of 4 tasks done\n",
        "Plan\nCount, then write\n",
        "1     sql_aggregate  completed                 n = 2\n",
        "4     agent          completed  scribe  3      It is written.\n",
        "Sub-agents\n",
        "planner as planner",
    ] {
        assert!(shown.contains(line), "no {line}: {shown}");
    }
    let shown = json(site.ralphd(&["show", &session.id, "--json"]));
    assert_eq!(shown["tasks"].as_array().unwrap().len(), 4);
    assert_eq!(shown["tasks"][0]["result"]["n"], 2);
    assert_eq!(
        shown["tasks"][2]["step"]["depends_on"],
        serde_json::json!([1, 2])
    );
    let child = &shown["children"][0];
    assert_eq!(
        (&child["agent"], &child["status"]),
        (&"scribe".into(), &"completed".into())
    );
    let list = site.ralphd(&["list"]).done();
    assert!(list.contains("↳ Write it down"), "{list}");
    let (text, machine) = site.outbox("ask", &session);
    for line in [
        "- Tasks: 4 of 4 completed\n",
        "- task 1: Count the customers (sql_aggregate): completed: n = 2\n",
        "- task 4: Write it down (agent by scribe): completed: It is written.\n",
    ] {
        assert!(text.contains(line), "no {line}: {text}");
    }
    assert_eq!(machine["tasks"][2]["result_summary"], "2");
    assert_eq!(machine["tasks"].as_array().unwrap().len(), 4);
}

#[test]
fn a_plan_that_fails_says_how_far_it_got() {
    let broken = PLAN.replace("echo noon", "echo broken; exit 3").replace(
        "\"critical\": true",
        "\"depends_on\": 1, \"on_failure\": \"stop\"",
    );
    let site = site(&broken);
    let ran = site.ralphd(&["run", "--file", "ask.md"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let session = site.ended("ask");
    let (text, machine) = site.outbox("ask", &session);
    for line in [
        "1 of 4 completed, 1 failed, 2 not done",
        "## What it came to so far",
        "ralphd continue",
    ] {
        assert!(text.contains(line), "no {line}: {text}");
    }
    let states: Vec<&str> = machine["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["status"].as_str().unwrap())
        .collect();
    assert_eq!(&states[..2], ["completed", "failed"], "{machine}");
    let shown = site.ralphd(&["show", &session.id]).done();
    assert!(shown.contains("2     shell          failed"), "{shown}");
    assert!(
        shown.contains("go on from here: ralphd continue"),
        "{shown}"
    );
}
