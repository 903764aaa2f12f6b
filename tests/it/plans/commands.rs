//! The command line of planned sessions: previews, workflows, gates, and what is shown of a plan.

use crate::support::{Daemon, Ran, Site, wait_for};
use serde_json::Value as Json;
use std::fs;
use std::process::Stdio;

/// Four tasks, the last by another agent.
const PLAN: &str = r#"{"plan_summary": "Count, then write", "complexity": "simple", "tasks": [
 {"order": 1, "type": "sql_aggregate", "description": "Count the customers", "sql": "SELECT count(*) AS n FROM customers"},
 {"order": 2, "type": "shell", "description": "Look at the clock", "command": "echo ran >>\"$HERE/shell.ran\"; echo noon", "critical": true},
 {"order": 3, "type": "transform", "description": "Pick the number", "depends_on": [1, 2], "filter": ".[\"1\"].n"},
 {"order": 4, "type": "agent", "agent": "scribe", "description": "Write it down", "depends_on": 3, "on_failure": "skip"}
]}"#;

const WORKFLOW: &str = r#"description = "Customers of a region"

[inputs.region]
description = "Which region"

[inputs.limit]
default = 10

[[tasks]]
order = 1
type = "sql_query"
description = "Customers in {{ input.region }}"
sql = "SELECT name FROM customers WHERE region = {{ input.region }} LIMIT {{ input.limit }}"

[[tasks]]
order = 2
type = "transform"
description = "Names"
depends_on = 1
filter = '.["1"].rows | map(.name)'
"#;

const ASK: &str =
    "---\nplan: auto\ndatasets: [customers.csv]\n---\nHow many customers are there?\n";

/// A site with a planner that says `plan`, a summarizer, and an agent for the work.
fn site(plan: &str) -> Site {
    let site = Site::new()
        .agent(
            "boss",
            "cat >/dev/null; echo 'Done by the boss.'; echo TASK_COMPLETE",
        )
        .agent(
            "scribe",
            "cat >/dev/null; echo 'It is written.'; echo TASK_COMPLETE",
        )
        .agent("planner", "cat >/dev/null; cat \"$HERE/plan.json\"")
        .configure("cost_per_iteration = 0.4\n")
        .agent("teller", "cat >/dev/null; echo 'There are two customers.'")
        .configure("[roles]\nplanner = \"planner\"\nsummarizer = \"teller\"\n");
    let here = site.root().display().to_string();
    fs::write(site.file("plan.json"), plan.replace("$HERE", &here)).unwrap();
    fs::write(
        site.file("customers.csv"),
        "name,region\nann,east\nbob,west\n",
    )
    .unwrap();
    fs::write(site.file("ask.md"), ASK).unwrap();
    fs::create_dir(site.file("workflows")).unwrap();
    fs::write(site.file("workflows/regional.toml"), WORKFLOW).unwrap();
    fs::create_dir(site.file("temporary")).unwrap();
    let temporary = site.file("temporary").display().to_string();
    site.variable("TMPDIR", &temporary)
}

fn json(ran: Ran) -> Json {
    serde_json::from_str(&ran.done()).unwrap()
}

fn assert_nothing_left(site: &Site) {
    assert!(!site.state().exists(), "a preview makes no state");
    let left: Vec<_> = fs::read_dir(site.file("temporary")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(site.read("shell.ran"), "", "no task runs");
    assert_eq!(site.runs("scribe") + site.runs("boss"), 0);
}

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

#[test]
fn workflows_are_listed() {
    let site = site(PLAN);
    let list = site.ralphd(&["workflow", "list"]).done();
    assert_eq!(
        list,
        "NAME      TASKS  INPUTS            DESCRIPTION\nregional  2      limit=10, region  Customers of a region\n"
    );
    fs::write(site.file("workflows/bad.toml"), "tasks = 3\n").unwrap();
    let listed = json(site.ralphd(&["workflow", "list", "--json"]));
    assert_eq!(listed[0]["name"], "bad");
    assert!(
        listed[0]["error"].as_str().unwrap().contains("tasks"),
        "{listed}"
    );
    assert_eq!(listed[1]["inputs"]["region"]["description"], "Which region");
    assert_eq!(listed[1]["tasks"], 2);
    fs::remove_dir_all(site.file("workflows")).unwrap();
    let none = site.ralphd(&["workflow", "list"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    let place = site.file("workflows").display().to_string();
    assert!(none.stderr.contains(&place), "{none:?}");
}

#[test]
fn workflows_are_checked_line_by_line() {
    let site = site(PLAN);
    let right = site.ralphd(&["workflow", "check"]).done();
    assert!(right.contains("regional.toml: right"), "{right}");
    let wrong = WORKFLOW.replace("map(.name)", "mapp(.name)");
    fs::write(site.file("workflows/filter.toml"), &wrong).unwrap();
    let wrong = WORKFLOW
        .replace("type = \"transform\"", "type = \"transfrom\"")
        .replace("{{ input.limit }}", "'{{ input.limit }}'");
    fs::write(site.file("elsewhere.toml"), &wrong).unwrap();
    for (which, code, expected) in [
        (
            &[][..],
            2,
            &[
                "filter.toml:20: task 2, filter:",
                "no function mapp",
                "regional.toml: right",
            ][..],
        ),
        (&["regional"], 0, &["right"]),
        (
            &["elsewhere.toml"],
            2,
            &[
                "elsewhere.toml:13: task 1, sql:",
                "elsewhere.toml:17: task 2, type:",
            ],
        ),
        (&["./nowhere.toml"], 2, &["nowhere.toml: "]),
    ] {
        let ran = site.ralphd(&[&["workflow", "check"], which].concat());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        for text in expected {
            assert!(ran.stdout.contains(text), "no {text}: {ran:?}");
        }
    }
    let unknown = site.ralphd(&["workflow", "check", "regionall"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(
        unknown.stderr.contains("did you mean regional?"),
        "{unknown:?}"
    );
    let found = site.ralphd(&["workflow", "check", "filter", "--json"]);
    let found: Json = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(found[0]["problems"][0]["line"], 20);
}

#[test]
fn a_workflow_is_run_by_its_name() {
    let site = site(PLAN);
    let arguments = [
        "workflow",
        "run",
        "regional",
        "--input",
        "region=west",
        "--datasets",
        "customers.csv",
    ];
    let ran = site.ralphd(&arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "There are two customers.\n");
    for line in [
        "task 1, sql_query: Customers in west\n",
        "task 2: completed: [\"bob\"]\n",
    ] {
        assert!(ran.stderr.contains(line), "no {line}: {}", ran.stderr);
    }
    let session = site.ended("regional");
    let objective: Vec<String> = site.column(
        "SELECT objective FROM sessions WHERE id = ?1",
        [&session.id],
    );
    assert_eq!(objective, ["Customers of a region"]);
    for (arguments, said) in [
        (
            &["workflow", "run", "regionl"][..],
            "did you mean regional?",
        ),
        (&["workflow", "run", "regional"], "input.region: missing"),
        (
            &["workflow", "run", "regional", "--plan", "auto"],
            "leave out one",
        ),
    ] {
        let ran = site.ralphd(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
}

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

#[test]
fn a_step_is_approved_or_rejected() {
    let daemon = Daemon::start(site(PLAN));
    daemon
        .ralphd(&["submit", "ask.md", "--autonomy", "3"])
        .done();
    let waiting = daemon.in_state("ask", "awaiting_human");
    let id = waiting.short_id();
    let shown = daemon.ralphd(&["show", id]).done();
    for line in [
        "May task 2 run (shell, critical)? Look at the clock",
        "echo noon",
        "ralphd approve",
        "ralphd reject",
    ] {
        assert!(shown.contains(line), "no {line}: {shown}");
    }
    let unclear = daemon.ralphd(&["answer", id, "yes, but quickly"]);
    assert_eq!(unclear.code, Some(1), "{unclear:?}");
    assert!(unclear.stderr.contains("ralphd approve"), "{unclear:?}");
    let rejected = daemon.ralphd(&["reject", id, "not at noon"]).done();
    assert!(rejected.contains("rejected; it is paused"), "{rejected}");
    let list = daemon.ralphd(&["list"]).done();
    assert!(list.contains("paused, rejected: not at noon"), "{list}");
    let shown = daemon.ralphd(&["show", id]).done();
    assert!(
        shown.contains("rejected: not at noon") && shown.contains("ralphd resume"),
        "{shown}"
    );
    let late = daemon.ralphd(&["approve", id]);
    assert_eq!(late.code, Some(1), "{late:?}");
    assert!(
        late.stderr.contains("cannot approve while paused"),
        "{late:?}"
    );
    daemon.ralphd(&["resume", id]).done();
    daemon.in_state("ask", "awaiting_human");
    assert_eq!(daemon.read("shell.ran"), "");
    daemon.ralphd(&["approve", id]).done();
    assert_eq!(daemon.ended("ask").ending(), ("completed", "completed"));
    assert_eq!(daemon.read("shell.ran"), "ran\n");
    let told = daemon.ralphd(&["watch", id]).done();
    for line in ["  task 2: rejected: not at noon\n", "  task 2: approved\n"] {
        assert!(told.contains(line), "no {line}: {told}");
    }
}

#[test]
fn a_gate_is_answered_by_words_and_by_files() {
    let daemon = Daemon::start(site(PLAN));
    let submitted = |name: &str| {
        fs::copy(daemon.file("ask.md"), daemon.file(&format!("{name}.md"))).unwrap();
        daemon
            .ralphd(&["submit", &format!("{name}.md"), "--autonomy", "3"])
            .done();
        daemon.in_state(name, "awaiting_human").id
    };
    let one = submitted("one");
    daemon.drop_file(
        "unclear.answer.md",
        &format!("session: {one}\nthe blue one\n"),
    );
    let refusal = wait_for("the refusal", || {
        let text = daemon.read("state/inbox/rejected/unclear.answer.md.error.txt");
        (!text.is_empty()).then_some(text)
    });
    assert!(refusal.contains("ralphd approve"), "{refusal}");
    daemon.drop_file(
        "no.answer.md",
        &format!("session: {one}\nreject\nnot today\n"),
    );
    let paused = daemon.in_state("one", "paused");
    assert!(
        paused
            .human_context
            .unwrap()
            .contains("\"rejected\":\"not today\"")
    );
    daemon.ralphd(&["resume", &one]).done();
    daemon.in_state("one", "awaiting_human");
    daemon.drop_file(
        "yes.answer.json",
        &format!(r#"{{"session": "{one}", "answer": "approve"}}"#),
    );
    assert_eq!(daemon.ended("one").status, "completed");
    let two = submitted("two");
    daemon.ralphd(&["answer", &two, "1"]).done();
    assert_eq!(daemon.ended("two").status, "completed");
}

#[test]
fn an_approval_that_nobody_asked_for_is_refused() {
    let asks = "mkdir -p state; echo '{\"question\": \"Which?\"}' >state/question.json; echo hm";
    let site = Site::with_worker(asks);
    let asked = site.ralphd(&["run", "Go."]);
    assert_eq!(asked.code, Some(3), "{asked:?}");
    let id = site.session("go").unwrap().id;
    for verb in [&["approve", &id][..], &["reject", &id, "no"]] {
        let ran = site.ralphd(verb);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.stderr.contains("while waiting for an answer"),
            "{ran:?}"
        );
    }
}

#[test]
fn datasets_are_seen_from_where_they_are_named() {
    let site = site(PLAN);
    fs::create_dir(site.file("below")).unwrap();
    fs::copy(site.file("ask.md"), site.file("below/ask.md")).unwrap();
    let datasets = |arguments: &[&str]| -> Json {
        let id = site.ralphd(arguments).done();
        let text: String = site
            .cell("SELECT request FROM sessions WHERE id = ?1", [id.trim()])
            .unwrap();
        serde_json::from_str::<Json>(&text).unwrap()["datasets"].clone()
    };
    let here = site.root().canonicalize().unwrap();
    let whole = |name: &str| here.join(name).display().to_string();
    let planned = [
        "submit",
        "--objective",
        "Go.",
        "--plan",
        "auto",
        "--datasets",
    ];
    assert_eq!(
        datasets(&[&planned[..], &["customers.csv"]].concat()),
        serde_json::json!([whole("customers.csv")])
    );
    assert_eq!(
        datasets(&[&planned[..], &["absent.csv"]].concat()),
        serde_json::json!(["absent.csv"])
    );
    assert_eq!(
        datasets(&["submit", "ask.md"]),
        serde_json::json!([whole("customers.csv")])
    );
    assert_eq!(
        datasets(&["submit", "below/ask.md"]),
        serde_json::json!(["customers.csv"]),
        "not beside the file"
    );
    fs::copy(site.file("customers.csv"), site.file("below/customers.csv")).unwrap();
    assert_eq!(
        datasets(&["submit", "below/ask.md"]),
        serde_json::json!([whole("below/customers.csv")])
    );
}

#[test]
fn a_planned_session_is_retried_and_continued_with_its_plan() {
    let daemon = Daemon::start(site(PLAN));
    let arguments = [
        "workflow",
        "run",
        "regional",
        "--input",
        "region=west",
        "--datasets",
        "customers.csv",
    ];
    daemon.ralphd(&arguments).done();
    let first = daemon.ended("regional");
    for (verb, same) in [("retry", false), ("continue", true)] {
        let id = daemon.ralphd(&[verb, &first.id]).done();
        let again = daemon.ended(id.trim());
        assert_eq!(again.ending(), ("completed", "completed"), "{verb}");
        assert_eq!(again.follows.as_ref(), Some(&first.id));
        assert_eq!(again.workspace == first.workspace, same, "{verb}");
        let shown = json(daemon.ralphd(&["show", id.trim(), "--json"]));
        assert_eq!(
            shown["tasks"][1]["result"],
            serde_json::json!(["bob"]),
            "{verb}"
        );
    }
}
