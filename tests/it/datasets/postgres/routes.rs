//! Files and a server in one session: whom a statement asks.

use super::super::{ask, rows, table};
use super::{prepare, shop};
use ralphd::dataset::{Fault, QueryLimits, Question};
use ralphd::model::placeholder::{Dialect, Statement};
use serde_json::json;

#[test]
fn a_statement_asks_the_files_or_the_server_and_never_both() {
    let Some((place, postgres)) = shop() else {
        return;
    };
    place
        .write("customers.csv", "id,name\n1,From the file\n")
        .write("visits.csv", "id\n7\n");
    super::super::make_database(
        &place.file("public.db"),
        "CREATE TABLE notes(x); INSERT INTO notes VALUES ('mine');",
    );
    let datasets = prepare(&place, &postgres.address()).unwrap();
    // The server's schema keeps its name.
    assert_eq!(table(&datasets, "public_2.notes").row_count, Some(1));
    for (sql, expected) in [
        (
            "SELECT name FROM customers WHERE id = 1",
            json!("From the file"),
        ),
        (
            "SELECT name FROM public.customers WHERE id = 1",
            json!("Ada"),
        ),
        ("SELECT min(name) FROM east", json!("Ada")),
        ("SELECT x FROM public_2.notes", json!("mine")),
        ("SELECT id FROM visits", json!(7)),
        (
            "WITH visits AS (SELECT count(*) AS n FROM east) SELECT n FROM visits",
            json!(2),
        ),
    ] {
        assert_eq!(rows(&datasets, sql), [[expected]], "{sql}");
    }
    let targeted = Question {
        sql: "SELECT name FROM customers WHERE id = 1",
        target: Some("postgres"),
        ..Question::default()
    };
    assert_eq!(
        datasets
            .query(&targeted, &QueryLimits::default())
            .unwrap()
            .rows,
        [[json!("Ada")]]
    );
    let trouble = ask(
        &datasets,
        "SELECT * FROM visits JOIN public.customers USING (id)",
        &[],
    )
    .unwrap_err();
    assert_eq!(trouble.fault, Fault::SqlError);
    assert!(
        trouble.message.contains("one statement cannot ask both"),
        "{trouble}"
    );
    assert!(
        trouble
            .message
            .starts_with("public.customers is a table of postgres://owner@"),
        "{trouble}"
    );
}

#[test]
fn placeholders_follow_the_dialect() {
    let Some((place, postgres)) = shop() else {
        return;
    };
    place.write("visits.csv", "id\n7\n");
    let datasets = prepare(&place, &postgres.address()).unwrap();
    for (sql, dialect, expected) in [
        (
            "SELECT name FROM public.customers WHERE id = {{value}}",
            Dialect::Postgres,
            0,
        ),
        (
            "SELECT id FROM visits WHERE id = {{value}}",
            Dialect::Sqlite,
            1,
        ),
    ] {
        assert_eq!(datasets.dialect_for(None, sql), Ok(dialect));
        let statement = Statement::read(sql, dialect).unwrap();
        let answer = ask(&datasets, statement.text(), &[json!(7)]).unwrap();
        assert_eq!(answer.rows.len(), expected, "{sql}");
    }
}
