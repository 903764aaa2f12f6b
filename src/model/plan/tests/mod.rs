//! Plans as planners write them: what is understood, what is refused and in which words, and how they look.

mod work;

use super::*;
use serde_json::{Value as Json, json};

pub(in crate::model::plan) fn agents() -> Vec<String> {
    ["claude", "codex"].map(str::to_owned).to_vec()
}

fn read(plan: Json) -> Result<Plan, String> {
    let agents = agents();
    let rules = Rules {
        agents: &agents,
        max_tasks: 6,
        kept: &[],
    };
    from_json(&plan.to_string(), &rules).map_err(|problems| problems.to_string())
}

fn read_tasks(tasks: Json) -> Result<Plan, String> {
    read(json!({ "plan_summary": "s", "complexity": "simple", "tasks": tasks }))
}

#[test]
fn the_worked_example_is_read() {
    let plan = read(json!({
        "plan_summary": "Count, then sum", "complexity": "moderate",
        "tasks": [
            {"order": 1, "type": "discovery", "description": "Find the dataset", "target_file_id": null, "depends_on": null, "reasoning": "r"},
            {"order": 2, "type": "query", "description": "Customers in the East", "target_file_id": "customers",
             "target_file_name": "customers.csv", "depends_on": 1, "sql": "SELECT * FROM customers WHERE region = 'East'"},
            {"order": 3, "type": "aggregation", "description": "Sum", "depends_on": [1, 2], "critical": true, "on_failure": "retry",
             "sql": "SELECT sum(amount) FROM orders WHERE customer = {{dep.2.rows.0.id}}"},
            {"order": 4, "type": "validation", "description": "Is it right?", "depends_on": "3", "agent": "codex"},
        ]
    }))
    .unwrap();
    let kinds: Vec<&str> = plan.tasks.iter().map(|task| task.kind.as_str()).collect();
    assert_eq!(
        kinds,
        ["analysis", "sql_query", "sql_aggregate", "validation"]
    );
    let depends_on: Vec<_> = plan
        .tasks
        .iter()
        .map(|task| task.depends_on.clone())
        .collect();
    assert_eq!(depends_on, [vec![], vec![1], vec![1, 2], vec![3]]);
    assert_eq!(plan.complexity, Some(Complexity::Moderate));
    assert_eq!(plan.tasks[1].target.as_deref(), Some("customers"));
    assert!(plan.tasks[2].critical);
    let again = serde_json::to_value(&plan).unwrap();
    assert_eq!(read(again), Ok(plan));
}

#[test]
fn sloppy_fields_are_understood() {
    let base = json!({"order": 2, "type": "agent", "description": "d"});
    for (field, written, expected) in [
        ("order", json!("2"), json!(2)),
        ("order", json!(2.0), json!(2)),
        ("order", json!("Task 2"), json!(2)),
        ("type", json!("Sql-Query"), json!("sql_query")),
        ("type", json!("Discovery"), json!("analysis")),
        ("type", json!("aggregation"), json!("sql_aggregate")),
        ("depends_on", json!(1), json!([1])),
        ("depends_on", json!("1"), json!([1])),
        ("depends_on", json!("task 1"), json!([1])),
        ("depends_on", json!("1, 0"), json!([1, 0])),
        ("depends_on", json!(["1", 1.0, null, 0]), json!([1, 0])),
        ("depends_on", json!(null), Json::Null),
        ("depends_on", json!("none"), Json::Null),
        ("depends_on", json!(""), Json::Null),
        ("depends_on", json!([]), Json::Null),
        ("critical", json!("true"), json!(true)),
        ("critical", json!(null), Json::Null),
        ("on_failure", json!("SKIP"), json!("skip")),
        ("on_failure", json!(""), Json::Null),
        ("agent", json!("  "), Json::Null),
        ("colour", json!("red"), Json::Null),
    ] {
        let mut task = base.clone();
        task[field] = written.clone();
        task["sql"] = json!("SELECT 1");
        let others =
            ["0", "1"].map(|order| json!({"order": order, "type": "agent", "description": "d"}));
        let plan = read_tasks(json!([others[0], others[1], task]))
            .unwrap_or_else(|wrong| panic!("{field} {written}: {wrong}"));
        let task = serde_json::to_value(&plan.tasks[2]).unwrap();
        assert_eq!(
            task.get(field).unwrap_or(&Json::Null),
            &expected,
            "{field} {written}"
        );
    }
    let bare = json!([{"order": 1, "type": "agent", "description": "d"}]);
    assert!(read(bare.clone()).is_ok());
    assert!(read(json!({"plan": {"tasks": bare}})).is_ok());
}

#[test]
fn each_mistake_is_named_with_task_and_field() {
    let task = |order: u32, more: Json| {
        let mut task = json!({"order": order, "type": "agent", "description": "d"});
        task.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        task
    };
    for (tasks, expected) in [
        (json!([]), "tasks: must have at least one task, has none"),
        (json!("x"), "tasks: must be a list of tasks, is text \"x\""),
        (
            json!([7]),
            "tasks[0]: must be a table of keys, is the number 7",
        ),
        (
            json!([{}]),
            "tasks[0], order: missing\ntasks[0], type: missing\ntasks[0], description: missing",
        ),
        (
            json!([task(1, json!({})), task(1, json!({}))]),
            "task 1, order: tasks[0] and tasks[1] both have the order 1; give each its own",
        ),
        (
            json!([task(1, json!({"order": "one"}))]),
            "tasks[0], order: must be a whole number, is text \"one\"",
        ),
        (
            json!([task(1, json!({"order": -1}))]),
            "tasks[0], order: must be between 0 and 1000000, is -1",
        ),
        (
            json!([task(1, json!({"type": "dance"}))]),
            "task 1, type: must be \"agent\" or \"analysis\" or \"sql_query\" or \"sql_aggregate\" or \"validation\" or \"transform\" or \"shell\" or \"merge\", is \"dance\"",
        ),
        (
            json!([task(1, json!({"description": " "}))]),
            "task 1, description: must not be blank",
        ),
        (
            json!([task(1, json!({"depends_on": 9})), task(2, json!({}))]),
            "task 1, depends_on: there is no task 9; the tasks are 1, 2",
        ),
        (
            json!([task(1, json!({"depends_on": "the first"}))]),
            "task 1, depends_on: must be a list, is text \"the first\"",
        ),
        (
            json!([task(1, json!({"depends_on": 1}))]),
            "task 1, depends_on: the task depends on itself; leave that out",
        ),
        (
            json!([
                task(1, json!({"depends_on": 3})),
                task(2, json!({"depends_on": 1})),
                task(3, json!({"depends_on": 2})),
                task(4, json!({"depends_on": 3}))
            ]),
            "task 1, depends_on: the tasks wait for each other in a circle: 1 → 3 → 2 → 1; drop one of these dependencies",
        ),
        (
            json!([task(1, json!({"agent": "codx"}))]),
            "task 1, agent: there is no agent \"codx\"; did you mean codex?",
        ),
        (
            json!([task(1, json!({"agent": "zed"}))]),
            "task 1, agent: there is no agent \"zed\"; known: claude, codex",
        ),
        (
            json!([task(1, json!({"type": "query"}))]),
            "task 1, sql: missing: a task of type sql_query needs it",
        ),
        (
            json!([task(1, json!({"type": "sql_aggregate", "sql": ""}))]),
            "task 1, sql: missing: a task of type sql_aggregate needs it",
        ),
        (
            json!([task(1, json!({"type": "transform"}))]),
            "task 1, filter: missing: a task of type transform needs it",
        ),
        (
            json!([task(1, json!({"type": "shell"}))]),
            "task 1, command: missing: a task of type shell needs it",
        ),
        (
            json!([task(1, json!({"critical": true, "on_failure": "skip"}))]),
            "task 1, on_failure: a critical task cannot be skipped; use retry, stop, human, replan or auto, or do not call it critical",
        ),
        (
            json!([task(1, json!({"depend_on": 1}))]),
            "task 1, depend_on: unknown key; did you mean depends_on?",
        ),
        (
            json!([task(1, json!({"sql": "SELECT '{{value}}'"}))]),
            "task 1, sql: {{value}} stands inside quotes; remove the quotes, the value is bound as a parameter",
        ),
        (
            json!([
                task(1, json!({"sql": "SELECT {{dep.2.a}}"})),
                task(2, json!({}))
            ]),
            "task 1, sql: {{dep.2.a}} needs task 2; add 2 to depends_on",
        ),
    ] {
        assert_eq!(
            read_tasks(tasks.clone()),
            Err(expected.to_owned()),
            "{tasks}"
        );
    }
    assert_eq!(
        read(json!({})),
        Err("tasks: missing: a plan needs a list of tasks".to_owned())
    );
    assert_eq!(
        read(json!(3)),
        Err("a plan must be a JSON object with a list `tasks`, is the number 3".to_owned())
    );
    assert!(
        read_tasks(json!(vec![task(1, json!({})); 7]))
            .unwrap_err()
            .starts_with("tasks: must have at most 6 tasks, has 7; join some or leave some out\n")
    );
    let rules = Rules {
        agents: &[],
        max_tasks: 6,
        kept: &[],
    };
    assert!(
        from_json("{\"tasks\": [", &rules).unwrap_err()[0]
            .message
            .starts_with("not valid JSON")
    );
}

#[test]
fn all_mistakes_come_at_once() {
    let wrong = read_tasks(json!([
        {"order": 1, "type": "query", "description": "", "agent": "zed"},
        {"order": 1, "type": "shell", "description": "d", "depends_on": [8, 2]},
        {"order": 2, "type": "nothing", "description": "d", "depends_on": [1, 2], "critical": true, "on_failure": "skip"},
    ]))
    .unwrap_err();
    for part in [
        "task 1, description:",
        "task 1, sql:",
        "task 1, agent:",
        "task 1, order:",
        "task 1, command:",
        "there is no task 8",
        "task 2, type:",
        "task 2, on_failure:",
        "task 2, depends_on: the task depends on itself",
    ] {
        assert!(wrong.contains(part), "{part} is not in\n{wrong}");
    }
    assert_eq!(wrong.lines().count(), 9, "{wrong}");
}

#[test]
fn a_new_plan_may_rest_on_what_is_completed() {
    let rules = Rules {
        agents: &[],
        max_tasks: 6,
        kept: &[1, 2],
    };
    let plan = |order: u32, depends_on: u32| {
        from_value(json!({"tasks": [{"order": order, "type": "agent", "description": "d", "depends_on": depends_on}]}), &rules)
            .map_err(|problems| problems.to_string())
    };
    let accepted = plan(3, 2).unwrap();
    assert_eq!(
        Progress::of(&accepted).ready(),
        [3],
        "what is completed is met"
    );
    assert_eq!(
        plan(2, 1),
        Err("task 2, order: 2 is taken by a task that is completed; use another number".to_owned())
    );
    assert_eq!(
        plan(3, 4),
        Err("task 3, depends_on: there is no task 4; the tasks are 1, 2, 3".to_owned())
    );
}

#[test]
fn the_schema_is_wholly_understood_and_says_what_is_needed() {
    crate::model::document::shape::tests::assert_checkable(&schema());
    assert_eq!(schema()["required"], json!(["tasks"]));
    assert_eq!(
        schema()["$defs"]["PlanTask"]["required"],
        json!(["order", "type", "description"])
    );
    assert_eq!(
        schema()["$defs"]["PlanTask"]["properties"]["type"]["enum"]
            .as_array()
            .map(Vec::len),
        Some(8)
    );
}
