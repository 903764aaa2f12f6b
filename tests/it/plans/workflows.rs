//! Workflows: plans written by hand. Whatever is given as an input stays a value, in SQL, in a shell, in a filter and in a prompt.

use super::example::CUSTOMERS;
use super::stage::Stage;
use crate::support::Site;
use serde_json::json;

const GREET: &str = r#"
description = "Look somebody up"

[inputs.who]
description = "whose row to look for"

[inputs.greeting]
default = "Hello"

[[tasks]]
order = 1
type = "sql_aggregate"
description = "Count {{ input.who }}"
sql = "SELECT count(*) AS n, {{ input.who }} AS who, (SELECT count(*) FROM customers) AS people FROM customers WHERE name = {{ input.who }}"

[[tasks]]
order = 2
type = "shell"
description = "Say it"
depends_on = 1
command = "printf '%s|' {{ input.greeting }} {{ input.who }} \"to {{ input.who }}\""

[[tasks]]
order = 3
type = "transform"
description = "Fold it"
depends_on = 2
filter = "{who: {{ input.who }}, length: ({{ input.who }} | length)}"

[[tasks]]
order = 4
type = "agent"
description = "Write to {{ input.who }}"
depends_on = [3]
"#;

fn stage() -> Stage {
    let site = Site::new();
    std::fs::write(site.file("customers.csv"), CUSTOMERS).unwrap();
    std::fs::create_dir(site.file("workflows")).unwrap();
    std::fs::write(site.file("workflows/greet.toml"), GREET).unwrap();
    Stage::on(site, "")
}

#[test]
fn inputs_stay_values_whatever_they_hold() {
    let stage = stage();
    let path = stage.file("customers.csv").display().to_string();
    let trap = stage.file("trap").display().to_string();
    let touch = format!("$(touch {trap}) `touch {trap}`; touch {trap}");
    let rows = [
        ("plain", "Ada", 1),
        ("sql", "'; DROP TABLE customers; --", 0),
        ("shell", touch.as_str(), 0),
        ("template", "{{ input.greeting }} {{ x }} {% for %}", 0),
        ("quotes", "\"' \\ $HOME * \" .. | error", 0),
    ];
    for (name, who, _) in rows {
        let request = json!({"plan": "greet", "inputs": {"who": who}, "datasets": [path], "objective": format!("Do what case {name} is about.")});
        stage.drop_file(&format!("{name}.json"), &request.to_string());
    }
    for (name, who, count) in rows {
        let session = stage.ended(name);
        assert_eq!(
            session.ending(),
            ("completed", "completed"),
            "{name}: {session:?}"
        );
        assert_eq!(
            stage.task(&session, 1)["result"],
            json!({"n": count, "who": who, "people": 4}),
            "{name}"
        );
        assert_eq!(
            stage.task(&session, 2)["result"]["output"],
            format!("Hello|{who}|to {who}|"),
            "{name}"
        );
        assert_eq!(
            stage.task(&session, 3)["result"],
            json!({"who": who, "length": who.chars().count()}),
            "{name}"
        );
        let prompt = stage.left(name, "step.1.prompt");
        assert!(
            prompt.contains(&format!("Write to {who}")),
            "{name}: {prompt}"
        );
        assert_eq!(
            stage.turns(name, "planner"),
            0,
            "a workflow needs no planner"
        );
    }
    assert!(!stage.file("trap").exists());
}

#[test]
fn what_cannot_be_run_is_refused_at_submission() {
    let stage = stage();
    for (name, front, words) in [
        ("missing", "plan: greet", "whose row to look for"),
        (
            "strange",
            "plan: greet\ninputs: { who: x, whom: y }",
            "did you mean who?",
        ),
        (
            "nearest",
            "plan: gret\ninputs: { who: x }",
            "did you mean greet?",
        ),
        ("path", "plan: ../ralphd", "must be a name of letters"),
        (
            "inputs",
            "plan: auto\ninputs: { who: x }",
            "are for workflows",
        ),
    ] {
        let text = format!("---\n{front}\n---\nGo.");
        std::fs::write(stage.file("request.md"), &text).unwrap();
        let ran = stage.ralphd(&["submit", "request.md"]);
        assert_eq!(ran.code, Some(2), "{name}: {ran:?}");
        assert!(ran.stderr.contains(words), "{name}: {ran:?}");
        stage.drop_file(&format!("{name}.md"), &text);
        let error = format!("state/inbox/rejected/{name}.md.error.txt");
        let told = crate::support::wait_for("the rejection", || {
            Some(stage.read(&error)).filter(|told| !told.is_empty())
        });
        assert!(told.contains(words), "{name}: {told}");
    }
    assert_eq!(stage.count("SELECT count(*) FROM sessions"), 0);
}

#[test]
fn a_session_whose_workflow_is_gone_fails_in_clear_words() {
    let mut stage = stage();
    stage.drop_file(
        "gone.md",
        "---\nplan: greet\ninputs: { who: Ada }\nnot_before: 2999-01-01T00:00:00Z\n---\nGo.",
    );
    let waiting = stage.in_state("gone", "created");
    stage.terminate();
    std::fs::remove_file(stage.file("workflows/greet.toml")).unwrap();
    rusqlite::Connection::open(stage.state().join("ralphd.db"))
        .unwrap()
        .execute(
            "UPDATE tasks SET run_at_ms = 0, not_before_ms = NULL WHERE session_id = ?1",
            [&waiting.id],
        )
        .unwrap();
    stage.restart();
    let session = stage.ended("gone");
    assert_eq!(session.ending(), ("failed", "plan_invalid"), "{session:?}");
    assert!(
        session.end_detail.as_deref().unwrap().contains("greet"),
        "{session:?}"
    );
}
