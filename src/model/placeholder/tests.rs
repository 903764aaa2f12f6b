//! Placeholders: what is bound, what is refused, and that no value can reach the text.

use super::*;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

fn read(sql: &str) -> Result<(String, Vec<String>), String> {
    in_dialect(sql, Dialect::Sqlite)
}

fn in_dialect(sql: &str, dialect: Dialect) -> Result<(String, Vec<String>), String> {
    let statement = Statement::read(sql, dialect).map_err(|error| error.to_string())?;
    let binds = statement.binds().iter().map(Placeholder::to_string);
    Ok((statement.text().to_owned(), binds.collect()))
}

#[test]
fn placeholders_become_parameters() {
    for (sql, text, binds) in [
        ("SELECT 1", "SELECT 1", vec![]),
        ("a = {{file_id}}", "a = ?1", vec!["{{file_id}}"]),
        (
            "a = {{ value }} OR b = {{value}}",
            "a = ?1 OR b = ?1",
            vec!["{{value}}"],
        ),
        (
            "x > {{dep.2.rows[0].total}} AND y = {{dep.12.rows.0.Total revenue}}",
            "x > ?1 AND y = ?2",
            vec!["{{dep.2.rows.0.total}}", "{{dep.12.rows.0.Total revenue}}"],
        ),
        ("{{dep.1}}", "?1", vec!["{{dep.1}}"]),
        ("r = {{ input.region }}", "r = ?1", vec!["{{input.region}}"]),
        // Neighbours must not make another parameter or another name of it.
        ("{{value}}5", "?1 5", vec!["{{value}}"]),
        ("a{{value}}b", "a ?1 b", vec!["{{value}}"]),
        (
            "{{value}}{{file_id}}",
            "?1 ?2",
            vec!["{{value}}", "{{file_id}}"],
        ),
        // Not code.
        (
            "-- {{value}} it's\nx = {{value}}",
            "-- {{value}} it's\nx = ?1",
            vec!["{{value}}"],
        ),
        (
            "/* {{nonsense '*/ {{value}}",
            "/* {{nonsense '*/ ?1",
            vec!["{{value}}"],
        ),
        ("'it''s' || {{value}}", "'it''s' || ?1", vec!["{{value}}"]),
        (
            "'{{1,2},{3}}' LIKE '%{{name}}%'",
            "'{{1,2},{3}}' LIKE '%{{name}}%'",
            vec![],
        ),
        (
            "\"a\"\"b\" = {{value}} AND [c'd] = `e'f`",
            "\"a\"\"b\" = ?1 AND [c'd] = `e'f`",
            vec!["{{value}}"],
        ),
        (
            "größe = {{value}} -- ende",
            "größe = ?1 -- ende",
            vec!["{{value}}"],
        ),
        (
            "data->>'a' = {{value}}",
            "data->>'a' = ?1",
            vec!["{{value}}"],
        ),
        (
            "FROM t WHERE a = {{value}}",
            "FROM t WHERE a = ?1",
            vec!["{{value}}"],
        ),
        ("'open {{nothing", "'open {{nothing", vec![]),
    ] {
        let binds = binds.into_iter().map(str::to_owned).collect();
        assert_eq!(read(sql), Ok((text.to_owned(), binds)), "{sql}");
    }
}

#[test]
fn mistakes_are_told() {
    let quotes =
        "{{value}} stands inside quotes; remove the quotes, the value is bound as a parameter";
    let stray = |parameter: &str| {
        format!(
            "the parameter {parameter} would stay empty; use a placeholder such as {{{{value}}}} or {{{{dep.N.path}}}} instead"
        )
    };
    for (sql, expected) in [
        ("a = '{{value}}'", quotes.to_owned()),
        ("a = '{{ value }}' --'", quotes.to_owned()),
        ("a LIKE '%''{{value}}%'", quotes.to_owned()),
        ("\"{{value}}\"", quotes.to_owned()),
        ("[{{value}}]", quotes.to_owned()),
        ("`{{value}}`", quotes.to_owned()),
        ("'{{value}}", quotes.to_owned()),
        ("a = {{value", "a {{ is never closed by }}".to_owned()),
        ("a = {{valeu}}", "unknown placeholder \"valeu\"; did you mean {{value}}?".to_owned()),
        (
            "a = {{region}}",
            "unknown placeholder \"region\"; known: {{file_id}}, {{value}}, {{dep.N.path}}, {{input.name}}".to_owned(),
        ),
        (
            "SELECT * FROM /* the table */ {{file_id}}",
            "{{file_id}} stands where a table's name must be; write the name of the table itself".to_owned(),
        ),
        (
            "SELECT (SELECT 1 FROM {{file_id}})",
            "{{file_id}} stands where a table's name must be; write the name of the table itself".to_owned(),
        ),
        (
            "a join {{file_id}}",
            "{{file_id}} stands where a table's name must be; write the name of the table itself".to_owned(),
        ),
        ("a = ? AND b = {{value}}", stray("?")),
        ("a = ?1", stray("?1")),
        ("a = :name", stray(":name")),
        ("a = @name", stray("@name")),
        ("a = $name", stray("$name")),
    ] {
        assert_eq!(read(sql), Err(expected), "{sql}");
    }
    for inner in [
        "dep",
        "dep.",
        "dep.x",
        "dep.1.",
        "dep.1..a",
        "dep.-1",
        "dep.1.a'b",
        "dep.99999999999",
        "input.",
        "input.a b",
        "VALUE",
    ] {
        assert!(read(&format!("{{{{{inner}}}}}")).is_err(), "{inner}");
    }
    let many: String = (0..1001)
        .map(|order| format!("{{{{dep.{order}}}}},"))
        .collect();
    assert_eq!(
        read(&many),
        Err("more than 1000 different placeholders".to_owned())
    );
}

#[test]
fn postgres_has_rules_of_its_own() {
    for (sql, text) in [
        ("a[{{value}}] ? 'k'", "a[$1] ? 'k'"),
        (
            "SELECT extract(year FROM {{value}}), a IS DISTINCT FROM {{value}}",
            "SELECT extract(year FROM $1), a IS DISTINCT FROM $1",
        ),
        ("a::int = {{value}}", "a::int = $1"),
        ("a{{value}}", "a $1"),
        ("/* /* {{x */ {{y */ {{value}}", "/* /* {{x */ {{y */ $1"),
        ("$$it's$$ || {{value}}", "$$it's$$ || $1"),
        ("$q$ $$ ' $q$ || {{value}}", "$q$ $$ ' $q$ || $1"),
        ("E'it\\'s' || {{value}}", "E'it\\'s' || $1"),
        ("E'\\\\' || {{value}}", "E'\\\\' || $1"),
        ("name'x' || {{value}}", "name'x' || $1"),
        ("E'\\", "E'\\"),
        ("a $", "a $"),
    ] {
        let read = in_dialect(sql, Dialect::Postgres);
        assert_eq!(read.map(|(text, _)| text), Ok(text.to_owned()), "{sql}");
    }
    for sql in [
        "a = $1",
        "$$ {{value}} $$",
        "$a$ {{value}} $a$",
        "E'\\'{{value}}'",
        "{{value",
    ] {
        assert!(in_dialect(sql, Dialect::Postgres).is_err(), "{sql}");
    }
}

#[test]
fn values_are_found_or_missed_in_plain_words() {
    let dependencies = BTreeMap::from([
        (1, json!({"decision": "customers", "confidence": "high"})),
        (
            2,
            json!({"rows": [{"total": 42, "share": 0.5}], "truncated": false}),
        ),
    ]);
    let inputs = BTreeMap::from([("region".to_owned(), "'; DROP TABLE t; --".to_owned())]);
    let sources = Sources {
        target: None,
        dependencies: &dependencies,
        inputs: &inputs,
    };
    let text = |text: &str| Ok(Bound::Text(text.to_owned()));
    let wrong = |text: &str| Err(text.to_owned());
    for (inner, expected) in [
        ("file_id", text("customers")),
        ("value", text("customers")),
        ("dep.1.decision", text("customers")),
        ("dep.2.rows.0.total", Ok(Bound::Integer(42))),
        ("dep.2.rows[0].share", Ok(Bound::Real(0.5))),
        ("dep.2.truncated", Ok(Bound::Integer(0))),
        ("dep.2.rows", text(r#"[{"total":42,"share":0.5}]"#)),
        ("input.region", text("'; DROP TABLE t; --")),
        ("input.x", wrong("{{input.x}}: there is no input x")),
        (
            "dep.3.a",
            wrong("{{dep.3.a}}: the task does not depend on task 3; it depends on tasks 1, 2"),
        ),
        (
            "dep.2.total",
            wrong("{{dep.2.total}}: the result has no \"total\"; it has: rows, truncated"),
        ),
        (
            "dep.2.rows.1",
            wrong("{{dep.2.rows.1}}: rows is a list of 1 and has no \"1\"; the first is 0"),
        ),
        (
            "dep.2.rows.0.total.x",
            wrong("{{dep.2.rows.0.total.x}}: rows.0.total is a plain value and has no \"x\""),
        ),
    ] {
        assert_eq!(
            resolve(&parse(inner).unwrap(), &sources),
            expected,
            "{inner}"
        );
    }
    let own = Sources {
        target: Some("orders"),
        ..sources
    };
    assert_eq!(resolve(&Placeholder::FileId, &own), text("orders"));
}

#[test]
fn the_one_outcome_is_found_whatever_its_form() {
    let inputs = BTreeMap::new();
    for (results, expected) in [
        (vec![json!(7)], Ok(Bound::Integer(7))),
        (vec![json!({"total": 42})], Ok(Bound::Integer(42))),
        (
            vec![json!({"rows": [{"total": 42}], "truncated": false})],
            Ok(Bound::Integer(42)),
        ),
        (vec![json!([{"a": "x"}])], Ok(Bound::Text("x".to_owned()))),
        (vec![json!({"value": null})], Ok(Bound::Null)),
        (
            vec![json!(null), json!("y")],
            Ok(Bound::Text("y".to_owned())),
        ),
        (
            vec![json!({"a": 1, "b": 2})],
            Err(
                "{{value}}: no dependency has a result with value or decision; it depends on task 0",
            ),
        ),
        (
            vec![],
            Err(
                "{{value}}: no dependency has a result with value or decision; it depends on no task",
            ),
        ),
        (
            vec![json!(1), json!(2)],
            Err("{{value}}: 2 dependencies have one; say which, as in {{dep.0.value}}"),
        ),
    ] {
        let dependencies = (0..).zip(results).collect();
        let sources = Sources {
            target: None,
            dependencies: &dependencies,
            inputs: &inputs,
        };
        let expected = expected.map_err(str::to_owned);
        assert_eq!(
            resolve(&Placeholder::Value, &sources),
            expected,
            "{dependencies:?}"
        );
    }
}

fn pieces() -> impl Strategy<Value = Vec<String>> {
    let piece = prop_oneof![
        3 => proptest::sample::select(vec![
            "{{value}}", "{{file_id}}", "{{dep.1.a}}", "{{", "}}", "'", "\"", "`", "[", "]", "--", "\n", "/*", "*/", "$$", "$a$", "E'",
            "\\", "SELECT ", "FROM ", " ", "5", "x", "é", "?", "$1", ";",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
    ];
    proptest::collection::vec(piece, 0..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Whatever the text: no panic, and an accepted one has all its parameters from us.
    #[test]
    fn any_text_is_read_or_refused(pieces in pieces(), postgres in any::<bool>()) {
        let dialect = if postgres { Dialect::Postgres } else { Dialect::Sqlite };
        let sql = pieces.concat();
        if let Ok(statement) = Statement::read(&sql, dialect) {
            prop_assert!(statement.binds().len() <= sql.matches("{{").count());
            if statement.binds().is_empty() {
                prop_assert_eq!(statement.text(), sql);
            } else {
                // Read once more, the parameters are now strangers: they really stand in the code.
                let again = Statement::read(statement.text(), dialect);
                prop_assert!(matches!(again, Err(PlaceholderError::Stray(_))), "{} {again:?}", statement.text());
            }
        }
    }

    /// Where SQLite understands the text, it sees our parameters and no others.
    #[test]
    fn sqlite_sees_exactly_our_parameters(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "{{value}}", "{{file_id}}", "{{dep.1.a}}", "{{dep.2.rows[0].b}}", "'it''s {{x'", "'--'", "'/*'", "1 -- '{{value}}\n", "2 /* ' {{y */",
        "[a ' b]", "`a -- b`", "\"a '' b\"", "x'00'", "3/*", "*/+4", "'", "--\n", "'?1'", "a$b", "5",
    ]), 1..12), separator in proptest::sample::select(vec![", ", " || ", " "])) {
        let sql = format!("SELECT {} FROM (SELECT 1 AS [a ' b], 2 AS `a -- b`, 3 AS a$b)", pieces.join(separator));
        let database = rusqlite::Connection::open_in_memory().unwrap();
        if let Ok(statement) = Statement::read(&sql, Dialect::Sqlite)
            && let Ok(prepared) = database.prepare(statement.text())
        {
            prop_assert_eq!(prepared.parameter_count(), statement.binds().len(), "{}", statement.text());
        }
    }
}
