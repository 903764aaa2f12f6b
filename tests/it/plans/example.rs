//! The worked example: customers and orders, a question over both, four tasks, one answer with the right numbers.

use super::stage::{Stage, plan, says};
use crate::builtin::{BOTH, Dialect};
use crate::datasets::sheets::workbook;
use crate::support::model_server::{ModelServer, Play};
use crate::support::{Daemon, Session, Site};
use serde_json::{Value as Json, json};

pub const CUSTOMERS: &str = "id,name,region\n1,Ada,East\n2,Ben,West\n3,Cleo,East\n4,Dan,East\n";
/// Order, customer, amount: 60.5 of it from the East, 100 from the West.
const ORDERS: &[(i64, i64, f64)] = &[(1, 1, 10.5), (2, 2, 100.0), (3, 3, 20.0), (4, 1, 30.0)];
const QUESTION: &str = "How many customers are in the East region, and what is their revenue?";
const ANSWER: &str = "3 customers are in the East region; their revenue is 60.5.";

/// The XML of a sheet with the orders.
fn order_rows() -> String {
    let head = ["order_id", "customer_id", "amount"]
        .iter()
        .zip(["A", "B", "C"]);
    let head: String = head
        .map(|(name, column)| {
            format!("<c r=\"{column}1\" t=\"inlineStr\"><is><t>{name}</t></is></c>")
        })
        .collect();
    let rows = ORDERS.iter().enumerate().map(|(index, (order, customer, amount))| {
        let row = index + 2;
        format!("<row r=\"{row}\"><c r=\"A{row}\"><v>{order}</v></c><c r=\"B{row}\"><v>{customer}</v></c><c r=\"C{row}\"><v>{amount}</v></c></row>")
    });
    format!("<row r=\"1\">{head}</row>{}", rows.collect::<String>())
}

/// Puts the two files onto a site.
fn with_files(site: Site) -> Site {
    std::fs::write(site.file("customers.csv"), CUSTOMERS).unwrap();
    std::fs::write(
        site.file("orders.xlsx"),
        workbook(&[("Orders", &order_rows())]),
    )
    .unwrap();
    site
}

fn datasets(site: &Site) -> String {
    let path = |name: &str| site.file(name).display().to_string();
    format!(
        "datasets: [{}, {}]",
        path("customers.csv"),
        path("orders.xlsx")
    )
}

fn tasks() -> Json {
    json!([
        {"order": 1, "type": "discovery", "description": "Find the dataset that knows the region", "depends_on": null},
        {"order": 2, "type": "query", "description": "Customers in the East", "depends_on": 1, "target": "customers",
         "sql": "SELECT id, name FROM customers WHERE region = 'East'"},
        {"order": 3, "type": "aggregation", "description": "Count them and sum their orders", "depends_on": 2,
         "sql": "SELECT (SELECT count(*) FROM json_each({{dep.2.rows}})) AS customers, sum(amount) AS revenue FROM orders \
                 WHERE customer_id IN (SELECT value ->> 'id' FROM json_each({{dep.2.rows}}))"},
        {"order": 4, "type": "validation", "description": "See whether the sum can be right", "depends_on": 3,
         "expected_output": "a positive number"},
    ])
}

const DECISION: &str = r#"{"decision": "customers", "reasoning": "only it has the column region", "confidence": "high", "options": [], "question": null}"#;

#[test]
fn a_question_over_a_table_and_a_spreadsheet() {
    let stage = Stage::on(with_files(Site::new()), "");
    // Who sums up knows the numbers only from the results in the prompt.
    let sums_up = r#"p=$(cat); c=$(echo "$p" | grep -o '"customers":[0-9]*' | cut -d: -f2)
        r=$(echo "$p" | grep -o '"revenue":[0-9.]*' | cut -d: -f2)
        echo "$c customers are in the East region; their revenue is $r.""#;
    let case = stage.case("example").front(&datasets(&stage));
    case.plan(tasks())
        .says("analyst", DECISION)
        .plays("summarizer", sums_up)
        .submit();
    let session = stage.ended("example");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(session.answer(), ANSWER);
    assert_eq!(session.verified.as_deref(), Some("claimed"));
    assert_rows(&stage, &session);
    assert_prompts(&stage);
    let (text, machine) = stage.outbox("example", &session);
    assert!(text.contains(ANSWER), "{text}");
    assert_eq!(
        machine["final_answer"]
            .as_str()
            .or(machine["answer"].as_str()),
        Some(ANSWER),
        "{machine}"
    );
    assert!(
        session
            .workspace
            .ends_with(format!("workspaces/workflow/{}", session.id))
    );
    stage.assert_nothing_runs();
}

/// What S0 describes: the tasks, what they depend on, the two views, the history.
fn assert_rows(stage: &Stage, session: &Session) {
    let tasks = stage.tasks(session);
    let kinds: Vec<&Json> = tasks.iter().map(|task| &task["type"]).collect();
    assert_eq!(
        json!(kinds),
        json!(["analysis", "sql_query", "sql_aggregate", "validation"])
    );
    assert_eq!(
        stage.states(session),
        "completed completed completed completed"
    );
    assert_eq!(tasks[0]["result"]["decision"], "customers");
    assert_eq!(
        tasks[1]["result"]["rows"],
        json!([{"id": 1, "name": "Ada"}, {"id": 3, "name": "Cleo"}, {"id": 4, "name": "Dan"}])
    );
    assert_eq!(tasks[2]["result"], json!({"customers": 3, "revenue": 60.5}));
    assert_eq!(tasks[2]["summary"], "customers = 3, revenue = 60.5");
    assert_eq!(tasks[3]["result"]["is_valid"], true);
    let depends = "SELECT t.task_order || '<' || d.task_order FROM task_deps x JOIN tasks t ON t.id = x.task_id
        JOIN tasks d ON d.id = x.depends_on_task_id WHERE t.session_id = ?1 ORDER BY 1";
    assert_eq!(
        stage.column::<String>(depends, [&session.id]),
        ["2<1", "3<2", "4<3"]
    );
    let progress = "SELECT json_array(query_preview, status, task_count, completed_task_count, failed_task_count, progress_pct,
        human_input_required) FROM v_session_progress WHERE session_id = ?1";
    let seen: String = stage.cell(progress, [&session.id]).unwrap();
    assert_eq!(
        seen.parse::<Json>().unwrap(),
        json!([
            "Do what case example is about.",
            "completed",
            4,
            4,
            0,
            100,
            0
        ])
    );
    let view = "SELECT json_array(task_order, task_type, task_description, target_file_name, status, retry_count, result_summary,
        error_message, duration_ms >= 0, depends_on_description) FROM v_session_tasks WHERE session_id = ?1";
    let rows: Vec<String> = stage.column(view, [&session.id]);
    assert_eq!(rows.len(), 4);
    assert_eq!(
        rows[1].parse::<Json>().unwrap(),
        json!([
            2,
            "sql_query",
            "Customers in the East",
            "customers",
            "completed",
            0,
            "3 rows",
            null,
            1,
            "Find the dataset that knows the region"
        ])
    );
    let history = "SELECT type FROM events WHERE session_id = ?1 AND (type LIKE 'session.%' OR type LIKE 'plan.%' OR type LIKE 'datasets.%') ORDER BY seq";
    assert_eq!(
        stage.column::<String>(history, [&session.id]),
        [
            "session.created",
            "session.discovering",
            "datasets.read",
            "session.planning",
            "plan.saved",
            "session.executing",
            "plan.completed",
            "session.summarizing",
            "session.completed"
        ]
    );
    assert_eq!(
        stage.told(session, "datasets.read")[0]["tables"],
        json!(["customers", "orders"])
    );
}

/// Every role is shown what it needs and nothing is asked twice.
fn assert_prompts(stage: &Stage) {
    let roles = [
        "planner",
        "analyst",
        "query",
        "validator",
        "summarizer",
        "step",
    ];
    let turns = roles.map(|role| stage.turns("example", role));
    assert_eq!(turns, [1, 1, 0, 1, 1, 0]);
    let planner = stage.left("example", "planner.1.prompt");
    for column in ["region", "customer_id", "amount"] {
        assert!(planner.contains(column), "{planner}");
    }
    let validator = stage.left("example", "validator.1.prompt");
    assert!(
        validator.contains(r#""revenue":60.5"#) && validator.contains("a positive number"),
        "{validator}"
    );
}

/// The same with a model behind ralphd's own loop: real HTTP, answers of a schema.
#[test]
fn a_built_in_agent_answers_it_too() {
    for dialect in BOTH {
        let server =
            ModelServer::answering(move |_, request| played(dialect, &request.body.to_string()));
        let site = with_files(dialect.site(&server, ""));
        let front = datasets(&site);
        let daemon = Daemon::start(site);
        daemon.drop_file(
            "example.md",
            &format!("---\nplan: auto\n{front}\n---\n{QUESTION}"),
        );
        let session = daemon.ended("example");
        assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
        assert_eq!(session.answer(), ANSWER);
        assert_eq!(
            daemon.count(
                "SELECT count(*) FROM tasks WHERE status = 'completed' AND task_type <> 'plan'"
            ),
            4
        );
        assert_eq!(
            server.requests().len(),
            4,
            "planner, analyst, validator, summarizer"
        );
        let spent = "SELECT input_tokens FROM sessions WHERE id = ?1";
        assert!(daemon.cell::<i64>(spent, [&session.id]).unwrap() > 0);
        daemon.assert_nothing_runs();
    }
}

/// As the schema wants it: no alias, every field there.
fn in_strict_form(tasks: Json) -> Json {
    let strict = |task: &Json| {
        let mut whole = json!({"agent": null, "critical": false, "on_failure": null, "target": null, "sql": null, "filter": null,
            "command": null, "expected_output": null, "reasoning": null});
        let fields = whole.as_object_mut().unwrap();
        fields.extend(task.as_object().unwrap().clone());
        let kind = match task["type"].as_str().unwrap() {
            "discovery" => "analysis",
            "query" => "sql_query",
            "aggregation" => "sql_aggregate",
            other => other,
        };
        fields["type"] = kind.into();
        fields["depends_on"] = task["depends_on"].as_i64().into_iter().collect();
        whole
    };
    tasks.as_array().unwrap().iter().map(strict).collect()
}

fn played(dialect: Dialect, asked: &str) -> Play {
    let answer = |document: &str| match dialect {
        Dialect::Anthropic => Play::call("answer", document.parse().unwrap()),
        Dialect::Openai => Play::say(document),
    };
    let has = |words: &str| asked.contains(words);
    match () {
        _ if has("You plan the work of one session.") => answer(&plan(in_strict_form(tasks()))),
        _ if has("You decide one question in a larger plan.") => answer(DECISION),
        _ if has("You check results of a larger plan") => {
            answer(r#"{"is_valid": true, "message": "60.5 is positive"}"#)
        }
        _ if has(r#"\"revenue\":60.5"#) || has(r#"\\\"revenue\\\":60.5"#) => Play::say(ANSWER),
        _ => Play::refuse(400, "unexpected", "nobody foresaw this question"),
    }
}

#[test]
fn a_summarizer_may_say_the_promise_and_it_is_not_part_of_the_answer() {
    let stage = Stage::open();
    let case = stage
        .case("promise")
        .plan(json!([super::stage::shell(1, &[], "true")]));
    case.plays("summarizer", &says("All is well.\n\nTASK_COMPLETE"))
        .submit();
    assert_eq!(stage.ended("promise").answer(), "All is well.");
}
