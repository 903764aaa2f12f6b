//! Files of every kind become tables; what is broken is named by its line.

use super::{Place, ask, columns, make_database, rows, table};
use ralphd::dataset::{Datasets, Fault, ImportLimits, Source};
use serde_json::json;

const LIMITS: ImportLimits = ImportLimits {
    file_bytes: 100_000,
    whole_file_bytes: 1_000,
    columns: 4,
    row_bytes: 2_000,
    sources: 3,
    tables: 3,
    broken_rows: 2,
};

#[test]
fn csv_with_types_nulls_and_odd_names() {
    let place = Place::new();
    let text = "\u{feff}id,Unit Price,zip,order,,Big,when,ok\r\n\
        1,2.50,00123,\"a \"\"b\"\"\nc\",x,9223372036854775808,2024-01-31,true\r\n\
        2,,00999,,\"\",1,2024-02-01,FALSE\r\n";
    place.write("2024 sales-final.csv", text);
    let datasets = place.prepare().unwrap();
    let imported = table(&datasets, "_2024_sales_final");
    assert_eq!(
        columns(imported),
        [
            "id integer",
            "Unit_Price real",
            "zip text",
            "\"order\" text",
            "column_5 text",
            "Big text",
            "\"when\" date",
            "ok boolean"
        ]
    );
    assert_eq!(imported.row_count, Some(2));
    assert_eq!(imported.columns[1].nulls, Some(1));
    assert_eq!(
        imported.columns[2].samples,
        [json!("00123"), json!("00999")]
    );
    assert_eq!(imported.sample_rows.len(), 2);
    assert_eq!(
        rows(&datasets, "SELECT * FROM _2024_sales_final ORDER BY id"),
        [
            vec![
                json!(1),
                json!(2.5),
                json!("00123"),
                json!("a \"b\"\nc"),
                json!("x"),
                json!("9223372036854775808"),
                json!("2024-01-31"),
                json!(1)
            ],
            vec![
                json!(2),
                json!(null),
                json!("00999"),
                json!(null),
                json!(null),
                json!("1"),
                json!("2024-02-01"),
                json!(0)
            ],
        ]
    );
}

#[test]
fn every_kind_of_text_file() {
    let place = Place::new();
    place
        .write("semicolon.csv", "name;price\nÄpfel;1,5\n")
        .write("tabs.tsv", "a\tb\n1\t2,3\n")
        .write(
            "list.json",
            r#"[{"id": 1, "tags": ["x"]}, {"id": 18446744073709551616, "late": null, "f": 0.1}]"#,
        )
        .write("wide.json", r#"{"id": [1, 2], "name": ["a", null]}"#)
        .write("wrapped.json", r#"{"rows": [{"id": 1}, {"id": 2}]}"#)
        .write(
            "lines.jsonl",
            "{\"id\": 1, \"ok\": true}\n\n{\"id\": 2, \"ok\": false}\r\n",
        );
    let datasets = place.prepare().unwrap();
    assert_eq!(
        rows(&datasets, "SELECT * FROM semicolon"),
        [[json!("Äpfel"), json!("1,5")]]
    );
    assert_eq!(
        rows(&datasets, "SELECT * FROM tabs"),
        [[json!(1), json!("2,3")]]
    );
    assert_eq!(
        rows(&datasets, "SELECT * FROM list"),
        [
            [json!("1"), json!("[\"x\"]"), json!(null), json!(null)],
            [
                json!("18446744073709551616"),
                json!(null),
                json!(null),
                json!(0.1)
            ],
        ]
    );
    assert_eq!(
        rows(&datasets, "SELECT * FROM wide"),
        [[json!(1), json!("a")], [json!(2), json!(null)]]
    );
    assert_eq!(rows(&datasets, "SELECT sum(id) FROM wrapped"), [[json!(3)]]);
    assert_eq!(
        rows(&datasets, "SELECT id FROM lines WHERE ok"),
        [[json!(1)]]
    );
}

#[test]
fn two_files_with_one_stem_are_two_tables() {
    let place = Place::new();
    place
        .write("a.csv", "x\n1\n")
        .write("a.json", "[{\"x\": 2}]")
        .write("A.tsv", "x\n3\n");
    let datasets = place.prepare().unwrap();
    let names: Vec<&str> = datasets
        .schema()
        .tables
        .iter()
        .map(|t| t.name.as_str())
        .collect();
    assert_eq!(names, ["A", "a_2", "a_3"]);
    assert_eq!(
        rows(&datasets, "SELECT a.x, a_2.x, a_3.x FROM a, a_2, a_3"),
        [[json!(3), json!(1), json!(2)]]
    );
}

#[test]
fn broken_rows_are_named_by_line_then_refused() {
    let place = Place::new();
    place.write("people.csv", "id,name\n1,a\n2\n3,c,d\n4,d,\n");
    let datasets = place.prepare_with(&LIMITS).unwrap();
    assert_eq!(
        datasets.schema().notes,
        [
            "people.csv: left out line 3: 1 fields where the header has 2",
            "people.csv: left out line 4: 3 fields where the header has 2",
        ]
    );
    assert_eq!(
        rows(&datasets, "SELECT id FROM people"),
        [[json!(1)], [json!(4)]]
    );
    place.write("people.csv", "id,name\n1\n2\n3\n4,d\n");
    let trouble = place.prepare_with(&LIMITS).unwrap_err();
    assert_eq!(trouble.fault, Fault::Format);
    assert_eq!(
        trouble.message,
        "people.csv: more than 2 broken rows, the last seen: line 4: 1 fields where the header has 2; the first: line 2: 1 fields where the header has 2"
    );
    // What was imported before is still whole.
    assert_eq!(rows(&datasets, "SELECT count(*) FROM people"), [[json!(2)]]);
    place
        .write("people.csv", "id\n1\n")
        .write("lines.jsonl", "{\"a\": 1}\n{\"a\": \n5\n");
    let datasets = place.prepare_with(&LIMITS).unwrap();
    let notes = datasets.schema().notes.join("\n");
    assert!(
        notes.contains("lines.jsonl: left out line 2: not JSON"),
        "{notes}"
    );
    assert!(
        notes.contains("lines.jsonl: left out line 3: not an object"),
        "{notes}"
    );
}

#[test]
fn refused_files_say_why() {
    let long = "x".repeat(3_000);
    let table: &[(&str, Vec<u8>, &str)] = &[
        (
            "a.csv",
            b"id\nM\xfcller\n".to_vec(),
            "line 2 is not UTF-8; save the file as UTF-8",
        ),
        ("a.csv", b"\xff\xfei\0d\0".to_vec(), "it is UTF-16"),
        ("a.csv", b"a,b\0c\n".to_vec(), "it is binary or UTF-16"),
        ("a.csv", Vec::new(), "it has no columns"),
        ("a.csv", b"a,b,c,d,e\n".to_vec(), "more than 4 columns"),
        (
            "a.csv",
            format!("a\n{long}\n").into(),
            "line 2: the row has more than 2000 bytes",
        ),
        (
            "a.csv",
            b"a,b\n1,\"never closed\n2,x\n3,y\n".to_vec(),
            "line 2: a quote is opened and never closed",
        ),
        (
            "a.csv",
            format!("a,b\n1,\"{}\n", "x\n".repeat(45_000)).into(),
            "line 2: the row has more than 2000 bytes",
        ),
        (
            "a.csv",
            vec![b'x'; 200_000],
            "it has 200000 bytes; at most 100000",
        ),
        (
            "a.jsonl",
            format!("{{\"a\": \"{long}\"}}").into(),
            "line 1: the row has more than 2000 bytes",
        ),
        (
            "a.jsonl",
            b"{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1}".to_vec(),
            "more than 4 columns",
        ),
        (
            "a.json",
            b"[{\"a\": 1}, {\"a\": ]".to_vec(),
            "it is not JSON: expected value at line 1",
        ),
        (
            "a.json",
            b"{\"a\": 1}\n{\"a\": 2}\n".to_vec(),
            "name the file .jsonl",
        ),
        ("a.json", b"{\"a\": 1}".to_vec(), "\"a\" is no array"),
        (
            "a.json",
            b"{\"a\": [1], \"b\": []}".to_vec(),
            "column \"a\" has 1 values, but \"b\" has 0",
        ),
        ("a.json", b"[]".to_vec(), "it has no columns"),
        (
            "a.json",
            b"5".to_vec(),
            "expected an array of objects or an object of arrays",
        ),
        (
            "a.json",
            format!("[{{\"a\": \"{long}\"}}]").into(),
            "element 1: the row has more than 2000 bytes",
        ),
        (
            "a.json",
            format!("{{\"a\": [\"{long}\"]}}").into(),
            "may have 1000 bytes; write an array of objects",
        ),
        (
            "a.xlsx",
            b"PK\x03\x04 no".to_vec(),
            "it is not a spreadsheet",
        ),
        (
            "a.db",
            b"no database at all, but long enough to be read as one".repeat(100),
            "cannot be used as a SQLite database",
        ),
    ];
    for (name, content, expected) in table {
        let place = Place::new();
        place.write(name, content);
        let trouble = place.prepare_with(&LIMITS).unwrap_err();
        assert!(
            trouble.message.contains(expected),
            "{name}: {trouble} instead of {expected}"
        );
        assert!(trouble.message.contains(name), "{trouble}");
        assert_eq!(trouble.fault, Fault::Format, "{trouble}");
        let left: Vec<_> = std::fs::read_dir(place.workspace())
            .unwrap()
            .flatten()
            .collect();
        let drafts = left
            .iter()
            .filter(|e| e.file_name() != "datasets.sqlite")
            .count();
        assert_eq!(drafts, 0, "{left:?}");
    }
}

#[test]
fn too_many_files_and_links_are_refused() {
    let place = Place::new();
    for name in ["a.csv", "b.csv", "c.csv", "d.csv"] {
        place.write(name, "x\n1\n");
    }
    let trouble = place.prepare_with(&LIMITS).unwrap_err();
    assert_eq!(trouble.message, "4 datasets; at most 3");
    let link = place.file("link.csv");
    std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
    let named = [Source::Path(link)];
    let trouble = Datasets::prepare(&place.workspace(), &named, &LIMITS).unwrap_err();
    assert_eq!(
        trouble.message,
        "link.csv: it is a symbolic link, not a regular file"
    );
}

#[test]
fn unchanged_files_are_not_imported_again() {
    let place = Place::new();
    place.write("a.csv", "x\n1\n");
    assert!(!place.prepare().unwrap().reused());
    let first = place.prepare().unwrap();
    assert!(first.reused());
    assert_eq!(table(&first, "a").row_count, Some(1));
    place.write("a.csv", "x\n2\n");
    let second = place.prepare().unwrap();
    assert!(!second.reused());
    assert_eq!(rows(&second, "SELECT x FROM a"), [[json!(2)]]);
    place.write("b.csv", "x\n3\n");
    assert!(!place.prepare().unwrap().reused());
    // Half an import, or something else in its place, does not count.
    std::fs::write(place.database(), "half").unwrap();
    let third = place.prepare().unwrap();
    assert!(!third.reused());
    assert_eq!(rows(&third, "SELECT x FROM b"), [[json!(3)]]);
}

#[test]
fn an_import_replaces_a_link_instead_of_following_it() {
    let place = Place::new();
    let elsewhere = place.file("precious");
    place
        .write("precious", "untouched")
        .write("a.csv", "x\n1\n");
    std::os::unix::fs::symlink(&elsewhere, place.database()).unwrap();
    let datasets = place.prepare().unwrap();
    assert_eq!(rows(&datasets, "SELECT x FROM a"), [[json!(1)]]);
    assert_eq!(std::fs::read(&elsewhere).unwrap(), b"untouched");
    assert!(!place.database().is_symlink());
}

#[test]
fn sqlite_files_are_asked_where_they_are() {
    let place = Place::new();
    make_database(
        &place.file("my shop.db"),
        "CREATE TABLE orders(id INTEGER, customer INTEGER, total REAL); INSERT INTO orders VALUES (1, 1, 9.5), (2, 1, 0.5), (3, 2, 7);
         CREATE VIEW large AS SELECT * FROM orders WHERE total > 5; CREATE TABLE \"odd name\"(x);",
    );
    place.write("customers.csv", "id,region\n1,East\n2,West\n");
    let before = std::fs::read(place.file("my shop.db")).unwrap();
    let datasets = place.prepare().unwrap();
    let names: Vec<&str> = datasets
        .schema()
        .tables
        .iter()
        .map(|t| t.name.as_str())
        .collect();
    assert_eq!(names[0], "customers");
    for name in ["my_shop.orders", "my_shop.large", "my_shop.\"odd name\""] {
        assert!(names.contains(&name), "{names:?}");
    }
    let orders = table(&datasets, "my_shop.orders");
    assert_eq!(
        (orders.row_count, orders.source.as_str()),
        (Some(3), "my shop.db")
    );
    assert_eq!(
        columns(orders),
        ["id integer", "customer integer", "total real"]
    );
    let sql = "SELECT region, sum(total) FROM customers c JOIN my_shop.orders o ON o.customer = c.id GROUP BY 1 ORDER BY 1";
    assert_eq!(
        rows(&datasets, sql),
        [[json!("East"), json!(10.0)], [json!("West"), json!(7.0)]]
    );
    assert_eq!(rows(&datasets, "SELECT count(*) FROM large"), [[json!(2)]]);
    let trouble = ask(&datasets, "DELETE FROM my_shop.orders", &[]).unwrap_err();
    assert_eq!(trouble.fault, Fault::Permission);
    assert_eq!(std::fs::read(place.file("my shop.db")).unwrap(), before);
}

#[test]
fn a_file_that_is_being_written_by_others_is_read_as_it_is() {
    let place = Place::new();
    let path = place.file("live.db");
    make_database(
        &path,
        "PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1);",
    );
    let datasets = place.prepare().unwrap();
    assert_eq!(rows(&datasets, "SELECT max(x) FROM live.t"), [[json!(1)]]);
    let writer = rusqlite::Connection::open(&path).unwrap();
    writer.execute("INSERT INTO t VALUES (2)", []).unwrap();
    let datasets = place.prepare().unwrap();
    writer.execute("INSERT INTO t VALUES (3)", []).unwrap();
    assert_eq!(rows(&datasets, "SELECT max(x) FROM live.t"), [[json!(3)]]);
}
