//! What SQL gives back, what its errors teach, where its limits are.

use super::{Place, ask, rows};
use ralphd::dataset::{Datasets, Fault, QueryLimits, Question};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn shop() -> (Place, Datasets) {
    let place = Place::new();
    place
        .write(
            "customers.csv",
            "id,name,region\n1,Ada,East\n2,Bob,West\n3,Cy,East\n",
        )
        .write(
            "orders.csv",
            "id,customer_id,total\n1,1,10.5\n2,3,4.5\n3,2,100\n",
        );
    let datasets = place.prepare().unwrap();
    (place, datasets)
}

const ENDLESS: &str = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) ";

#[test]
fn parameters_are_bound_and_never_read_as_sql() {
    let (_place, datasets) = shop();
    let sql = "SELECT count(*) AS n, sum(total) AS revenue FROM customers c JOIN orders o ON o.customer_id = c.id WHERE region = ?1 -- the region";
    let answer = ask(&datasets, sql, &[json!("East")]).unwrap();
    assert_eq!(answer.columns, ["n", "revenue"]);
    assert_eq!(answer.rows, [[json!(2), json!(15.0)]]);
    assert!(!answer.truncated);
    assert_eq!(answer.objects()[0]["revenue"], 15.0);
    let hostile = json!("East' OR '1'='1'; DROP TABLE customers; --");
    assert_eq!(
        ask(&datasets, sql, &[hostile]).unwrap().rows,
        [[json!(0), json!(null)]]
    );
    let trouble = ask(&datasets, sql, &[]).unwrap_err();
    assert!(
        trouble
            .message
            .starts_with("the SQL has 1 parameters, but 0 values"),
        "{trouble}"
    );
    let listed = ask(
        &datasets,
        "SELECT name FROM customers WHERE id IN (SELECT value FROM json_each(?1))",
        &[json!([1, 2])],
    );
    assert_eq!(listed.unwrap().rows, [[json!("Ada")], [json!("Bob")]]);
}

#[test]
fn errors_teach() {
    let (_place, datasets) = shop();
    for (sql, fault, expected) in [
        (
            "SELECT * FROM custmers",
            Fault::SchemaMismatch,
            "no such table: custmers; did you mean customers?; tables: customers, orders",
        ),
        (
            "SELECT regoin FROM customers",
            Fault::SchemaMismatch,
            "no such column: regoin; did you mean region?; columns: customers (id, name, region)",
        ),
        (
            "SELECT c.totl FROM customers c JOIN orders o ON 1",
            Fault::SchemaMismatch,
            "no such column: c.totl; did you mean total?",
        ),
        (
            "SELECT * FROM customers WHERE region = \"East\"",
            Fault::SchemaMismatch,
            "should this be a string literal in single-quotes?",
        ),
        ("SELEC 1", Fault::SqlError, "near \"SELEC\": syntax error"),
        (
            "SELECT id, FROM customers",
            Fault::SqlError,
            "near \"FROM\": syntax error, near: FROM customers",
        ),
        (
            "SELECT nofunc(1)",
            Fault::SqlError,
            "no such function: nofunc",
        ),
        (
            "SELECT id FROM customers, orders",
            Fault::SqlError,
            "ambiguous column name: id",
        ),
        ("", Fault::SqlError, "there is no SQL statement"),
        ("-- nothing", Fault::SqlError, "there is no SQL statement"),
        (
            "SELECT 1; SELECT 2",
            Fault::Permission,
            "more than one statement",
        ),
        (
            "DELETE FROM customers",
            Fault::Permission,
            "writing is not allowed; write one SELECT",
        ),
        (
            "PRAGMA table_info(customers)",
            Fault::Permission,
            "PRAGMA is not allowed",
        ),
        (
            "SELECT * FROM _ralphd_manifest",
            Fault::Permission,
            "_ralphd_manifest may not be read",
        ),
    ] {
        let trouble = ask(&datasets, sql, &[]).unwrap_err();
        assert_eq!(trouble.fault, fault, "{sql}: {trouble}");
        assert!(trouble.message.contains(expected), "{sql}: {trouble}");
    }
}

#[test]
fn nothing_found_is_told() {
    let (_place, datasets) = shop();
    let empty = ask(&datasets, "SELECT * FROM orders WHERE total > 1000", &[]).unwrap();
    assert_eq!(empty.require_some().unwrap_err().fault, Fault::NoData);
    let null = ask(
        &datasets,
        "SELECT sum(total) FROM orders WHERE total > 1000",
        &[],
    )
    .unwrap();
    assert_eq!(null.require_some().unwrap_err().fault, Fault::NoData);
    let zero = ask(
        &datasets,
        "SELECT count(*) FROM orders WHERE total > 1000",
        &[],
    )
    .unwrap();
    assert_eq!(zero.require_some(), Ok(()));
}

#[test]
fn results_are_cut_at_their_limits() {
    let (_place, datasets) = shop();
    let answer = ask(&datasets, &format!("{ENDLESS} SELECT x FROM n"), &[]).unwrap();
    assert_eq!((answer.rows.len(), answer.truncated), (10_000, true));
    let exact = ask(
        &datasets,
        &format!("{ENDLESS} SELECT x FROM n LIMIT 10000"),
        &[],
    )
    .unwrap();
    assert_eq!((exact.rows.len(), exact.truncated), (10_000, false));
    let small = QueryLimits {
        result_bytes: 1_000,
        ..QueryLimits::default()
    };
    let ask_small = |sql: &str| {
        let question = Question {
            sql,
            ..Question::default()
        };
        datasets.query(&question, &small)
    };
    let answer = ask_small(&format!("{ENDLESS} SELECT hex(zeroblob(100)) FROM n")).unwrap();
    assert_eq!((answer.rows.len(), answer.truncated), (4, true));
    let trouble = ask_small("SELECT hex(zeroblob(1000))").unwrap_err();
    assert!(
        trouble.message.starts_with("the first row alone"),
        "{trouble}"
    );
}

#[test]
fn time_and_disk_are_limited_and_a_stop_is_heard() {
    let (_place, datasets) = shop();
    let short = QueryLimits {
        time: Duration::from_millis(100),
        ..QueryLimits::default()
    };
    let endless = format!("{ENDLESS} SELECT count(*) FROM n");
    let question = Question {
        sql: &endless,
        ..Question::default()
    };
    let trouble = datasets.query(&question, &short).unwrap_err();
    assert_eq!(trouble.fault, Fault::Timeout);
    assert!(
        trouble
            .message
            .starts_with("the query took more than 0.1 s"),
        "{trouble}"
    );
    let stopped = Question {
        stop: Some(Arc::new(AtomicBool::new(true))),
        ..question
    };
    let trouble = datasets
        .query(&stopped, &QueryLimits::default())
        .unwrap_err();
    assert_eq!(trouble.fault, Fault::Cancelled);
    let little_disk = QueryLimits {
        spill_bytes: 10 << 20,
        ..QueryLimits::default()
    };
    let sorting = format!("{ENDLESS} SELECT hex(randomblob(5000)) AS h FROM n ORDER BY h");
    let question = Question {
        sql: &sorting,
        ..Question::default()
    };
    let trouble = datasets.query(&question, &little_disk).unwrap_err();
    assert!(
        trouble
            .message
            .starts_with("sorting or grouping needed more than"),
        "{trouble}"
    );
}

#[test]
fn the_functions_of_analysts_work() {
    let (_place, datasets) = shop();
    for (sql, expected) in [
        ("SELECT round(avg(total), 2) FROM orders", json!(38.33)),
        (
            "SELECT group_concat(name, '+') FROM (SELECT name FROM customers ORDER BY id)",
            json!("Ada+Bob+Cy"),
        ),
        ("SELECT strftime('%Y', '2024-05-06')", json!("2024")),
        (
            "SELECT rank() OVER (ORDER BY total DESC) FROM orders WHERE id = 3",
            json!(1),
        ),
        ("SELECT json_extract('{\"a\": [5]}', '$.a[0]')", json!(5)),
        ("SELECT '{\"a\": 7}' ->> 'a'", json!(7)),
        (
            "SELECT count(*) FILTER (WHERE region LIKE 'e%') FROM customers",
            json!(2),
        ),
        ("SELECT floor(sqrt(10))", json!(3.0)),
        (
            "SELECT CASE WHEN instr(name, 'd') THEN upper(replace(name, 'a', 'o')) END FROM customers WHERE id = 1",
            json!("ADO"),
        ),
        (
            "SELECT name FROM sqlite_schema WHERE name = 'orders'",
            json!("orders"),
        ),
        (
            "WITH big AS (SELECT * FROM orders WHERE total > 5) SELECT count(*) FROM big",
            json!(2),
        ),
        ("VALUES (1)", json!(1)),
    ] {
        assert_eq!(rows(&datasets, sql), [[expected]], "{sql}");
    }
}
