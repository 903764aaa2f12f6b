//! Workflows: read with lines, filled in as text, and refused with what is missing.

use super::*;
use proptest::prelude::*;

const EXAMPLE: &str = r#"
description = "Revenue of a region"

[inputs.region]
description = "The region to look at"

[inputs.limit]
default = 10

[inputs.note]
required = false

[[tasks]]
order = 1
type = "query"
description = "Customers in {{ input.region }} {{input.note}}"
sql = "SELECT * FROM customers WHERE region = {{ input.region }} LIMIT {{ input.limit }}"

[[tasks]]
order = 2
type = "shell"
description = "Write the report"
depends_on = 1
critical = true
command = "report --region {{ input.region }} --title \"All of {{ input.region }}\" --format '{{.Name}}'"

[[tasks]]
order = 3
type = "transform"
description = "Pick"
depends_on = [1, 2]
filter = ".[\"1\"].rows[] | select(.n > ({{ input.limit }} | tonumber))"
"#;

fn rules() -> Rules<'static> {
    Rules {
        agents: &[],
        max_tasks: MAX_TASKS,
        kept: &[],
    }
}

fn read(text: &str) -> Result<Workflow, String> {
    Workflow::read(text, &rules()).map_err(|problems| problems.to_string())
}

fn given(inputs: &[(&str, &str)]) -> BTreeMap<String, String> {
    inputs
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn a_workflow_is_filled_in() {
    let hostile = "East'; DROP TABLE t; --$(rm -rf ~) {{ input.limit }}";
    let filled = read(EXAMPLE)
        .unwrap()
        .fill(&given(&[("region", hostile)]), &rules())
        .unwrap();
    assert_eq!(
        filled.inputs,
        given(&[("region", hostile), ("limit", "10"), ("note", "")])
    );
    let [query, shell, transform] = &filled.plan.tasks[..] else {
        panic!("three tasks")
    };
    assert_eq!(filled.plan.plan_summary, "Revenue of a region");
    assert_eq!(
        query.description,
        format!("Customers in {hostile} "),
        "text, not looked at again"
    );
    assert_eq!(
        query.sql.as_deref(),
        Some("SELECT * FROM customers WHERE region = {{ input.region }} LIMIT {{ input.limit }}")
    );
    assert_eq!(
        shell.command.as_deref(),
        Some(
            r#"report --region "${RALPHD_INPUT_REGION}" --title "All of ${RALPHD_INPUT_REGION}" --format '{{.Name}}'"#
        )
    );
    assert_eq!(shell.depends_on, [1]);
    assert_eq!(
        transform.filter.as_deref(),
        Some(r#".["1"].rows[] | select(.n > ($input.limit | tonumber))"#)
    );
}

#[test]
fn inputs_are_missed_and_unknown_by_name() {
    let workflow = read(EXAMPLE).unwrap();
    for (inputs, expected) in [
        (vec![], "input.region: missing: The region to look at"),
        (
            vec![("region", "x"), ("regoin", "y")],
            "input.regoin: there is no input \"regoin\"; did you mean region?",
        ),
        (
            vec![("region", "x"), ("z", "y")],
            "input.z: there is no input \"z\"; known: limit, note, region",
        ),
        (
            vec![("region", "a\0b")],
            "input.region: must not contain a NUL character",
        ),
    ] {
        let wrong = workflow.fill(&given(&inputs), &rules()).unwrap_err();
        assert_eq!(wrong.to_string(), expected);
    }
    let long = "x".repeat(MAX_INPUT_BYTES + 1);
    assert!(
        workflow
            .fill(&given(&[("region", &long)]), &rules())
            .is_err()
    );
}

#[test]
fn mistakes_have_their_lines() {
    let task = "[[tasks]]\norder = 1\ntype = 'agent'\ndescription = 'd'\n";
    for (text, expected) in [
        ("x = ".to_owned(), "line 1: "),
        (String::new(), "tasks: missing"),
        (
            "tasks = []".to_owned(),
            "tasks: must have at least one task, has none",
        ),
        (
            "tasks = 'x'".to_owned(),
            "line 1, tasks: must be a list, is text \"x\"",
        ),
        (
            format!("descripton = 'x'\n{task}"),
            "line 1, descripton: unknown key; did you mean description?",
        ),
        (
            format!("[inputs.Region]\n{task}"),
            "line 1, inputs.Region: an input's name has at most 100 small letters, digits and '_', and starts with a letter",
        ),
        (
            format!("[inputs.a]\ndefault = 1\nrequired = true\n{task}"),
            "line 3, inputs.a.required: an input with a default need not be given; leave out one of the two",
        ),
        (
            format!("[inputs.a]\ndefalt = 1\n{task}"),
            "line 2, inputs.a.defalt: unknown key; did you mean default?",
        ),
        (
            format!("{task}colour = 'red'"),
            "line 5, task 1, colour: unknown key; known: order, type, description, depends_on, agent, critical, on_failure, target, sql, filter, command, expected_output, reasoning",
        ),
        (
            format!("{task}depends_on = 7"),
            "line 5, task 1, depends_on: there is no task 7; the tasks are 1",
        ),
        (
            format!("{task}agent = 'nobody'"),
            "line 5, task 1, agent: there is no agent \"nobody\"; leave the field out",
        ),
        (
            format!("{task}\n[[tasks]]\ntype = 'shell'\norder = 2\ndescription = 'd'"),
            "line 6, task 2, command: missing: a task of type shell needs it",
        ),
        (
            format!("{task}target = '{{{{ input.x }}}}'"),
            "line 5, task 1, target: there is no input \"x\"; the workflow has none",
        ),
        (
            format!("{task}sql = 'SELECT {{{{ input.x }}}}'"),
            "line 5, task 1, sql: there is no input \"x\"; the workflow has none",
        ),
        (
            format!("[inputs.x]\n{task}command = \"echo '{{{{ input.x }}}}'\""),
            "line 6, task 1, command: {{ input.x }} stands inside single quotes, where the shell puts nothing in; use double quotes or none",
        ),
        (
            format!("[inputs.x]\n{task}filter = '\"a {{{{ input.x }}}}\"'"),
            "line 6, task 1, filter: {{ input.x }} stands inside quotes; remove them, or write \\($input.x) there",
        ),
    ] {
        let wrong = read(&text).unwrap_err();
        assert!(wrong.starts_with(expected), "{text}\n{wrong}");
        assert_eq!(wrong.lines().count(), 1, "{text}\n{wrong}");
    }
}

#[test]
fn what_is_filled_in_is_checked_again() {
    let text = "[inputs.who]\n[[tasks]]\norder = 1\ntype = 'agent'\ndescription = 'd'\nagent = '{{ input.who }}'";
    let agents = ["codex".to_owned()];
    let rules = Rules {
        agents: &agents,
        ..rules()
    };
    let workflow = Workflow::read(text, &rules).unwrap();
    assert!(workflow.fill(&given(&[("who", "codex")]), &rules).is_ok());
    let wrong = workflow
        .fill(&given(&[("who", "zed")]), &rules)
        .unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "task 1, agent: there is no agent \"zed\"; known: codex"
    );
}

#[test]
fn quotes_of_a_shell_are_followed() {
    let one = given(&[("x", "v")]);
    for (command, expected) in [
        ("a {{input.x}}", Some("a \"${RALPHD_INPUT_X}\"")),
        (
            "a 'b' \"c\" {{input.x}}",
            Some("a 'b' \"c\" \"${RALPHD_INPUT_X}\""),
        ),
        ("a \\' {{input.x}}", Some("a \\' \"${RALPHD_INPUT_X}\"")),
        (
            "a \"\\\" {{input.x}}\"",
            Some("a \"\\\" ${RALPHD_INPUT_X}\""),
        ),
        (
            "a # don't\nb {{input.x}}",
            Some("a # don't\nb \"${RALPHD_INPUT_X}\""),
        ),
        ("a#' {{input.x}}", None),
        ("a 'b\\' {{input.x}}", Some("a 'b\\' \"${RALPHD_INPUT_X}\"")),
        ("a '{{input.x}}'", None),
    ] {
        assert_eq!(
            fill::fill(command, fill::Slot::Command, &one)
                .ok()
                .as_deref(),
            expected,
            "{command}"
        );
    }
}

#[test]
fn the_schema_is_wholly_understood() {
    crate::model::document::shape::tests::assert_checkable(&schema());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever a value says, code stays the code that was written.
    #[test]
    fn a_value_never_becomes_code(value in "[^\0]{0,40}") {
        let workflow = read(EXAMPLE).unwrap();
        let filled = workflow.fill(&given(&[("region", &value)]), &rules()).unwrap();
        let plain = workflow.fill(&given(&[("region", "East")]), &rules()).unwrap();
        for (task, other) in filled.plan.tasks.iter().zip(&plain.plan.tasks) {
            prop_assert_eq!((&task.sql, &task.filter, &task.command), (&other.sql, &other.filter, &other.command));
        }
        let expected = format!("Customers in {value} ");
        prop_assert_eq!(&filled.plan.tasks[0].description, &expected);
        prop_assert_eq!(&filled.inputs["region"], &value);
    }

    /// Whatever a file says: read or refused, never a panic.
    #[test]
    fn any_text_is_read_or_refused(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "[[tasks]]\n", "order = 1\n", "type = 'shell'\n", "description = 'd'\n", "command = \"{{ input.x }}'\"\n", "[inputs.x]\n",
        "depends_on = [1]\n", "order = 2\n", "[inputs]\n", "x = 1\n", "tasks = 3\n", "inputs = 3\n", "default = true\n", "\0", "é",
    ]), 0..12)) {
        if let Ok(workflow) = read(&pieces.concat()) {
            prop_assert!(!workflow.tasks.is_empty());
        }
    }
}
