//! What is told of a server's tables, and its values as JSON.

use super::super::{ask, columns, rows, table};
use super::{prepare, shop};
use crate::support::postgres::PASSWORD;
use ralphd::dataset::Fault;
use serde_json::json;

#[test]
fn its_tables_are_told() {
    let Some((place, postgres)) = shop() else {
        return;
    };
    postgres.run(
        "CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.secrets (x int); CREATE TABLE hidden (x int); ANALYZE customers;
         CREATE TABLE events (id int, long text) PARTITION BY RANGE (id); CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (9);
         CREATE VIEW failing AS SELECT 1 / (id - 1) AS x FROM customers;
         INSERT INTO events SELECT n % 9, repeat('x', 100000) FROM generate_series(1, 300) n;
         CREATE ROLE reader LOGIN PASSWORD 'lesen'; GRANT SELECT ON customers, east, events, failing TO reader;",
    );
    let datasets = prepare(&place, &postgres.address_of("reader", "lesen")).unwrap();
    let schema = datasets.schema();
    let names: Vec<&str> = schema
        .tables
        .iter()
        .map(|table| table.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "public.customers",
            "public.east",
            "public.events",
            "public.failing"
        ]
    );
    let customers = table(&datasets, "public.customers");
    let shown = format!(
        "postgres://reader@{}/postgres",
        postgres.directory().display()
    );
    assert_eq!(customers.source, shown);
    assert_eq!(
        columns(customers),
        ["id integer", "name text", "region character varying(20)"]
    );
    assert_eq!(customers.row_count, Some(4));
    assert_eq!(customers.columns[2].samples, [json!("East"), json!("West")]);
    assert_eq!(
        customers.sample_rows[0],
        [json!(1), json!("Ada"), json!("East")]
    );
    assert_eq!(table(&datasets, "public.east").row_count, Some(2));
    let events = table(&datasets, "public.events");
    assert_eq!(events.row_count, Some(300));
    assert_eq!(
        events.sample_rows[0][1],
        json!(format!("{}…", "x".repeat(40)))
    );
    let notes = schema.notes.join("\n");
    assert!(
        notes.contains("in PostgreSQL's SQL and never in one statement with others"),
        "{notes}"
    );
    assert!(
        notes.contains("public.failing: division by zero"),
        "{notes}"
    );
    assert!(!schema.in_words(1 << 20).contains("lesen"));
    let owner = prepare(&place, &postgres.address()).unwrap();
    let order = table(&owner, "public.\"Order\"");
    assert_eq!(
        columns(order),
        [
            "id bigint",
            "customer_id integer",
            "total numeric(10,2)",
            "\"unit price\" double precision"
        ]
    );
    assert_eq!(
        rows(&owner, "SELECT sum(\"unit price\") FROM public.\"Order\""),
        [[json!(9.35)]]
    );
    assert_eq!(rows(&datasets, "SELECT 1"), [[json!(1)]]);
    let trouble = ask(&datasets, "SELECT * FROM elsewhere.secrets", &[]).unwrap_err();
    assert_eq!(trouble.fault, Fault::Permission, "{trouble}");
    let trouble = ask(&datasets, "SELECT * FROM hidden", &[]).unwrap_err();
    assert_eq!(trouble.message, "permission denied for table hidden");
}

#[test]
fn values_become_json() {
    let Some((place, postgres)) = shop() else {
        return;
    };
    postgres.run("CREATE DOMAIN price AS numeric(10,2); CREATE TYPE mood AS ENUM ('sad', 'glad');");
    let datasets = prepare(&place, &postgres.address()).unwrap();
    for (expression, expected) in [
        ("1::smallint", json!(1)),
        ("9223372036854775807", json!(i64::MAX)),
        ("0.1::real", json!(0.1)),
        ("1e300::float8", json!(1e300)),
        ("'NaN'::float8", json!("NaN")),
        ("10.50::numeric", json!(10.5)),
        ("12345678901234567890.12", json!("12345678901234567890.12")),
        ("3.25::price", json!(3.25)),
        ("true", json!(true)),
        ("NULL::int", json!(null)),
        ("'x'", json!("x")),
        ("'ab'::char(5)", json!("ab")),
        ("DATE '2024-05-06'", json!("2024-05-06")),
        ("TIME '07:08:09.5'", json!("07:08:09.5")),
        (
            "TIMESTAMP '2024-05-06 07:08:09'",
            json!("2024-05-06T07:08:09"),
        ),
        (
            "TIMESTAMPTZ '2024-05-06 07:08:09+02' AT TIME ZONE 'UTC'",
            json!("2024-05-06T05:08:09"),
        ),
        ("INTERVAL '1 day 2 hours'", json!("1 day 02:00:00")),
        (
            "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid",
            json!("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ),
        ("'{\"a\": [1, null]}'::json", json!({"a": [1, null]})),
        ("'{\"a\": \"b\"}'::jsonb", json!({"a": "b"})),
        ("'null'::jsonb", json!(null)),
        ("ARRAY[1, NULL, 3]", json!([1, null, 3])),
        ("ARRAY[['a'], ['b']]", json!([["a"], ["b"]])),
        (
            "ARRAY[0.5, 0.1234567890123456789]",
            json!([0.5, "0.1234567890123456789"]),
        ),
        ("'\\x0102ff'::bytea", json!("bytea of 3 bytes")),
        ("'glad'::mood", json!("glad")),
        ("'10.0.0.1'::inet", json!("10.0.0.1/32")),
        ("int4range(1, 5)", json!("[1,5)")),
        (
            "(SELECT c FROM customers c WHERE id = 2)",
            json!({"id": 2, "name": "Bob", "region": "West"}),
        ),
        ("pg_sleep(0)", json!("")),
        ("(SELECT count(*) FROM customers)", json!(4)),
    ] {
        assert_eq!(
            rows(&datasets, &format!("SELECT {expression}")),
            [[expected]],
            "{expression}"
        );
    }
    let moment = &rows(&datasets, "SELECT TIMESTAMPTZ '2024-05-06 07:08:09+02'")[0][0];
    assert!(
        moment.as_str().unwrap().starts_with("2024-05-0"),
        "{moment}"
    );
    let twice = ask(
        &datasets,
        "SELECT id, name AS id, name \"a b\" FROM customers ORDER BY id DESC; -- done",
        &[],
    )
    .unwrap_err();
    assert_eq!(twice.fault, Fault::SqlError, "{twice}");
    let twice = ask(
        &datasets,
        "SELECT id, name AS id, name \"a b\" FROM customers ORDER BY 1 DESC; -- done",
        &[],
    )
    .unwrap();
    assert_eq!(twice.columns, ["id", "id", "a b"]);
    assert_eq!(twice.rows[0], [json!(4), json!("Di"), json!("Di")]);
    assert_eq!(twice.rows.len(), 4);
}

#[test]
fn parameters_are_bound_by_the_types_of_their_places() {
    let Some((place, postgres)) = shop() else {
        return;
    };
    let datasets = prepare(&place, &postgres.address()).unwrap();
    for (sql, parameters, expected) in [
        (
            "SELECT name FROM customers WHERE region = $1 AND id > $2",
            vec![json!("East"), json!(1)],
            json!("Cy"),
        ),
        (
            "SELECT name FROM customers WHERE id = $1",
            vec![json!(2.0)],
            json!("Bob"),
        ),
        (
            "SELECT name FROM customers WHERE id = $1",
            vec![json!("2")],
            json!("Bob"),
        ),
        (
            "SELECT count(*) FROM customers WHERE id = ANY ($1)",
            vec![json!([1, 2, 9])],
            json!(2),
        ),
        (
            "SELECT count(*) FROM customers WHERE name = ANY ($1)",
            vec![json!("[\"Ada\", \"Bob\"]")],
            json!(2),
        ),
        (
            "SELECT count(*) FROM customers WHERE region = $1",
            vec![json!("East' OR '1'='1'; DROP TABLE customers; --")],
            json!(0),
        ),
        (
            "SELECT $1::jsonb ->> 'a'",
            vec![json!({"a": 5})],
            json!("5"),
        ),
        (
            "SELECT $1::date + $2::int",
            vec![json!("2024-02-28"), json!(1)],
            json!("2024-02-29"),
        ),
        (
            "SELECT count(*) FROM customers WHERE $1::bool",
            vec![json!(1)],
            json!(4),
        ),
        (
            "SELECT coalesce($1, 'none')",
            vec![json!(null)],
            json!("none"),
        ),
    ] {
        let answer =
            ask(&datasets, sql, &parameters).unwrap_or_else(|trouble| panic!("{sql}: {trouble}"));
        assert_eq!(answer.rows, [[expected]], "{sql}");
    }
    let trouble = ask(&datasets, "SELECT name FROM customers WHERE id = $1", &[]).unwrap_err();
    assert_eq!(
        trouble.message,
        "the SQL has 1 parameters, but 0 values were given; write $1 to $1 and use each"
    );
    let trouble = ask(
        &datasets,
        "SELECT name FROM customers WHERE id = $1",
        &[json!("x")],
    )
    .unwrap_err();
    assert_eq!(trouble.fault, Fault::SqlError);
    assert!(
        trouble
            .message
            .contains("invalid input syntax for type integer: \"x\""),
        "{trouble}"
    );
}

#[test]
fn errors_teach() {
    let Some((place, postgres)) = shop() else {
        return;
    };
    let datasets = prepare(&place, &postgres.address()).unwrap();
    for (sql, fault, expected) in [
        (
            "SELECT * FROM custmers",
            Fault::SchemaMismatch,
            "no such table: custmers; did you mean public.customers?; tables: public.\"Order\", public.customers",
        ),
        (
            "SELECT * FROM public.custmers",
            Fault::SchemaMismatch,
            "did you mean public.customers?",
        ),
        (
            "SELECT * FROM nowhere.customers",
            Fault::SchemaMismatch,
            "nowhere.customers",
        ),
        (
            "SELECT regoin FROM customers",
            Fault::SchemaMismatch,
            "no such column: regoin; did you mean region?; columns: public.customers (id, name, region)",
        ),
        (
            "SELECT c.nam FROM customers c",
            Fault::SchemaMismatch,
            "did you mean name?",
        ),
        (
            "SELECT id, FROM customers",
            Fault::SqlError,
            "syntax error at or near \"FROM\", near: FROM customers",
        ),
        (
            "SELECT nofunc(1)",
            Fault::SqlError,
            "function nofunc(integer) does not exist",
        ),
        (
            "SELECT id FROM customers, east",
            Fault::SqlError,
            "column reference \"id\" is ambiguous",
        ),
        ("SELECT 1 / 0", Fault::SqlError, "division by zero"),
        (
            "SELECT name::int FROM customers",
            Fault::SqlError,
            "invalid input syntax for type integer",
        ),
        (
            "SELECT (SELECT id FROM customers)",
            Fault::SqlError,
            "more than one row returned by a subquery",
        ),
        ("SELECT '\0'", Fault::SqlError, "NUL character"),
        ("", Fault::SqlError, "there is no SQL statement"),
        (
            "SELECT 1; SELECT 2",
            Fault::Permission,
            "more than one statement",
        ),
    ] {
        let trouble = ask(&datasets, sql, &[]).expect_err(sql);
        assert_eq!(trouble.fault, fault, "{sql}: {trouble}");
        assert!(trouble.message.contains(expected), "{sql}: {trouble}");
        assert!(!trouble.message.contains(PASSWORD));
    }
}
