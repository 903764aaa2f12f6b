//! `ralphd plan`: a look at a plan that runs nothing.

use super::{PLAN, assert_nothing_left, json, site};
use crate::support::{Ran, wait_for};
use std::process::Stdio;

#[test]
fn a_preview_asks_the_planner_and_leaves_nothing() {
    let site = site(PLAN);
    let ran = site.ralphd(&["plan", "ask.md"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let table = [
        "TASK  TYPE           AGENT   AFTER  CRITICAL  ON FAILURE  DESCRIPTION",
        "1     sql_aggregate                                       Count the customers",
        "2     shell                         yes                   Look at the clock",
        "3     transform              1, 2                         Pick the number",
        "4     agent          scribe  3                skip        Write it down",
    ];
    assert!(ran.stdout.contains(&table.join("\n")), "{}", ran.stdout);
    for line in [
        "Count, then write",
        "complexity: simple",
        "●─╯  3  transform      Pick the number",
    ] {
        assert!(ran.stdout.contains(line), "no {line}: {}", ran.stdout);
    }
    assert!(ran.stderr.contains("tables: customers"), "{}", ran.stderr);
    assert!(ran.stderr.contains("planning cost $0.40"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("Look at the clock"), "{}", ran.stderr);
    assert_nothing_left(&site);

    let plan = json(site.ralphd(&[
        "plan",
        "--objective",
        "Count.",
        "--datasets",
        "customers.csv",
        "--json",
    ]));
    assert_eq!(plan["tasks"][3]["agent"], "scribe");
    assert_eq!(plan["plan_summary"], "Count, then write");
    assert_nothing_left(&site);
}

#[test]
fn a_preview_of_a_workflow_asks_nobody() {
    let site = site(PLAN);
    let given = [
        "plan",
        "--objective",
        "Go.",
        "--plan",
        "regional",
        "--input",
    ];
    let plan = json(site.ralphd(&[&given[..], &["region=west", "--json"]].concat()));
    assert_eq!(plan["tasks"][0]["description"], "Customers in west");
    assert_eq!(site.runs("planner"), 0);
    for (input, said) in [
        ("regio=west", "did you mean region?"),
        ("limit=3", "input.region: missing"),
    ] {
        let ran = site.ralphd(&[&given[..], &[input]].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
    assert_nothing_left(&site);
}

#[test]
fn a_plan_that_stays_wrong_is_told() {
    let site =
        site(r#"{"tasks": [{"order": 1, "type": "agent", "description": "x", "depends_on": 7}]}"#);
    let ran = site.ralphd(&["plan", "ask.md", "-q"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("there is no task 7"), "{ran:?}");
    assert_eq!((ran.stdout.as_str(), site.runs("planner")), ("", 3));
    let missing = site.ralphd(&["plan", "--objective", "Go.", "--datasets", "nowhere.csv"]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stderr.contains("nowhere.csv"), "{missing:?}");
    assert_nothing_left(&site);
}

#[test]
fn an_interrupt_ends_the_planner() {
    let site = site(PLAN).agent("slow", "exec sleep 600");
    let mut command = site.command(&["plan", "ask.md"]);
    command.env("RALPHD_ROLES__PLANNER", "slow");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_for("the planner", || (site.runs("slow") == 1).then_some(()));
    let kill = std::process::Command::new("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let ran = Ran::from_output(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:?}");
    site.assert_nothing_runs();
    assert_nothing_left(&site);
}
