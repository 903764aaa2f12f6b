//! The commands around plans, as a person types them: preview, workflows, display, gates, and what becomes of a request's parts.

mod display;
mod gates;
mod preview;
mod requests;
mod workflows;

use crate::support::{Ran, Site};
use serde_json::Value as Json;
use std::fs;

/// Four tasks, the last by another agent.
pub(super) const PLAN: &str = r#"{"plan_summary": "Count, then write", "complexity": "simple", "tasks": [
 {"order": 1, "type": "sql_aggregate", "description": "Count the customers", "sql": "SELECT count(*) AS n FROM customers"},
 {"order": 2, "type": "shell", "description": "Look at the clock", "command": "echo ran >>\"$HERE/shell.ran\"; echo noon", "critical": true},
 {"order": 3, "type": "transform", "description": "Pick the number", "depends_on": [1, 2], "filter": ".[\"1\"].n"},
 {"order": 4, "type": "agent", "agent": "scribe", "description": "Write it down", "depends_on": 3, "on_failure": "skip"}
]}"#;

pub(super) const WORKFLOW: &str = r#"description = "Customers of a region"

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

pub(super) const ASK: &str =
    "---\nplan: auto\ndatasets: [customers.csv]\n---\nHow many customers are there?\n";

/// A site with a planner that says `plan`, a summarizer, and an agent for the work.
pub(super) fn site(plan: &str) -> Site {
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

pub(super) fn json(ran: Ran) -> Json {
    serde_json::from_str(&ran.done()).unwrap()
}

pub(super) fn assert_nothing_left(site: &Site) {
    assert!(!site.state().exists(), "a preview makes no state");
    let left: Vec<_> = fs::read_dir(site.file("temporary")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(site.read("shell.ran"), "", "no task runs");
    assert_eq!(site.runs("scribe") + site.runs("boss"), 0);
}
