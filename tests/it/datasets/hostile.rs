//! SQL that means harm is refused or bounded, and leaves the datasets as they were, byte by byte.

use super::{Place, ask, make_database};
use ralphd::dataset::{Datasets, Fault, QueryLimits, Question, Rows, Trouble};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// Refused before anything runs.
const REFUSED: &[&str] = &[
    "INSERT INTO customers VALUES (9, 'x')",
    "INSERT OR REPLACE INTO customers SELECT * FROM customers",
    "REPLACE INTO customers VALUES (1, 'x')",
    "UPDATE customers SET name = 'x'",
    "DELETE FROM customers",
    "WITH x AS (SELECT 1) DELETE FROM customers",
    "DELETE FROM customers RETURNING *",
    "DROP TABLE customers",
    "CREATE TABLE evil(x)",
    "CREATE TEMP TABLE evil(x)",
    "CREATE TABLE evil AS SELECT * FROM customers",
    "CREATE VIEW evil AS SELECT 1",
    "CREATE TEMP VIEW evil AS SELECT 1",
    "CREATE TRIGGER evil AFTER INSERT ON customers BEGIN SELECT 1; END",
    "CREATE INDEX evil ON customers(name)",
    "CREATE VIRTUAL TABLE evil USING fts5(x)",
    "ALTER TABLE customers RENAME TO gone",
    "ALTER TABLE customers ADD COLUMN x",
    "ATTACH '{elsewhere}' AS other",
    "ATTACH DATABASE ':memory:' AS other",
    "DETACH shop",
    "PRAGMA query_only = 0",
    "PRAGMA writable_schema = 1",
    "PRAGMA journal_mode = WAL",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM pragma_table_info('customers')",
    "SELECT * FROM dbstat",
    "SELECT * FROM sqlite_dbpage",
    "VACUUM",
    "VACUUM INTO '{elsewhere}'",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "BEGIN IMMEDIATE",
    "COMMIT",
    "SAVEPOINT a",
    "SELECT 1; DROP TABLE customers",
    "SELECT 1; SELECT 2",
    "SELECT 1;;;; DELETE FROM customers;",
    "/* */ DELETE /* SELECT */ FROM customers",
    "EXPLAIN DELETE FROM customers",
    "SELECT load_extension('/tmp/evil.so')",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('{elsewhere}', 'x')",
    "SELECT edit('x')",
    "SELECT fts3_tokenizer('simple')",
    "SELECT json_patch('{}', '{}')",
    "SELECT * FROM shop.trap",
    "SELECT * FROM (DELETE FROM customers)",
    "SELECT hex(zeroblob(2000000000))",
    "SELECT printf('%.*c', 2000000000, 'x')",
    "SELECT replace(hex(zeroblob(400000)), '0', hex(zeroblob(400000)))",
    "SELECT group_concat(hex(zeroblob(100000))) FROM customers a, customers b, customers c, customers d",
    "SELECT 'a' LIKE hex(zeroblob(10000))",
    "SELECT :name",
    "SELECT ?5",
    "SELECT * FROM customers WHERE name = '{{value}}' OR ?1",
];

/// Allowed, and stopped by a limit or soon over.
const BOUNDED: &[&str] = &[
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION SELECT x + 1 FROM n) SELECT max(x) FROM n",
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT hex(randomblob(100000)) AS h FROM n ORDER BY h",
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT a.x FROM n a JOIN n b ON a.x = -b.x",
    "SELECT count(*) FROM customers a, customers b, customers c, customers d, customers e, customers f, customers g, customers h, customers i, customers j, customers k, customers l, customers m, customers n, customers o, customers p, customers q, customers r, customers s, customers t, customers u, customers v, customers w",
    "SELECT count(*) FROM json_each('[1' || replace(hex(zeroblob(50000)), '0', ',1') || ']') a, json_each('[1' || replace(hex(zeroblob(50000)), '0', ',1') || ']') b",
    "SELECT instr(hex(zeroblob(500000)), hex(zeroblob(250000)) || '1')",
    "SELECT trim(hex(zeroblob(500000)), replace(hex(zeroblob(500000)), '0', '1'))",
    "SELECT hex(zeroblob(500000)) LIKE '%0%0%0%0%0%0%0%0%0%0%0%0%0%0%0%1'",
    "SELECT hex(zeroblob(500000)) GLOB '*0*0*0*0*0*0*0*0*0*0*0*0*0*0*0*1'",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM shop.notes",
];

struct Scene {
    place: Place,
    datasets: Datasets,
}

fn scene() -> Scene {
    let place = Place::new();
    place.write(
        "customers.csv",
        "id,name\n1,Ada\n2,Bob\n3,Cy\n4,Di\n5,Ed\n6,Flo\n",
    );
    make_database(
        &place.file("shop.sqlite"),
        "CREATE TABLE notes(x); INSERT INTO notes VALUES ('mine'); CREATE VIEW trap AS SELECT load_extension('/tmp/evil.so') FROM notes;",
    );
    let datasets = place.prepare().unwrap();
    Scene { place, datasets }
}

impl Scene {
    /// Everything a query could have touched.
    fn bytes(&self) -> Vec<(String, Vec<u8>)> {
        let mut all = Vec::new();
        for directory in [self.place.workspace(), self.place.file("")] {
            for entry in std::fs::read_dir(directory).unwrap().flatten() {
                let path = entry.path();
                all.push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
        all.sort();
        all
    }

    fn ask(&self, sql: &str) -> Result<Rows, Trouble> {
        let elsewhere = self.place.workspace().join("elsewhere");
        let sql = sql.replace("{elsewhere}", &elsewhere.display().to_string());
        let limits = QueryLimits {
            time: Duration::from_millis(200),
            spill_bytes: 64 << 20,
            ..QueryLimits::default()
        };
        let question = Question {
            sql: &sql,
            ..Question::default()
        };
        let answer = self.datasets.query(&question, &limits);
        assert!(!Path::new(&elsewhere).exists(), "{sql}");
        answer
    }
}

#[test]
fn hostile_sql_is_refused_or_bounded() {
    let scene = scene();
    let before = scene.bytes();
    for sql in REFUSED {
        let trouble = scene.ask(sql).expect_err(sql);
        let fault = trouble.fault;
        let refused = matches!(
            fault,
            Fault::Permission | Fault::SqlError | Fault::SchemaMismatch
        );
        assert!(refused, "{sql}: {fault}: {trouble}");
        assert_eq!(scene.bytes(), before, "{sql}");
    }
    for sql in BOUNDED {
        match scene.ask(sql) {
            Ok(rows) => assert!(rows.rows.len() <= 10_000, "{sql}"),
            Err(trouble) => {
                let bounded = matches!(trouble.fault, Fault::Timeout | Fault::SqlError);
                assert!(bounded, "{sql}: {}: {trouble}", trouble.fault);
            }
        }
        assert_eq!(scene.bytes(), before, "{sql}");
    }
    assert!(REFUSED.len() + BOUNDED.len() >= 50);
}

#[test]
fn texts_that_attack_the_parser_are_bounded() {
    let scene = scene();
    let before = scene.bytes();
    let nested = format!("SELECT {}1{}", "(".repeat(30_000), ")".repeat(30_000));
    let semicolons = format!("SELECT 1{}SELECT 2", ";".repeat(60_000));
    let columns = format!("SELECT {}1", "hex(zeroblob(500000)),".repeat(2_000));
    let unions = format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(3_000));
    let mut laughs = "WITH a0 AS (SELECT id FROM customers)".to_owned();
    for level in 1..40 {
        let below = level - 1;
        laughs +=
            &format!(", a{level} AS (SELECT * FROM a{below} UNION ALL SELECT * FROM a{below})");
    }
    laughs += " SELECT count(*) FROM a39";
    let long = format!("SELECT '{}'", "x".repeat(100_000));
    for sql in [nested, semicolons, columns, unions, laughs, long] {
        let trouble = scene.ask(&sql).expect_err(&sql[..60]);
        let fault = trouble.fault;
        let known = matches!(fault, Fault::Permission | Fault::SqlError | Fault::Timeout);
        assert!(known, "{}: {fault}: {trouble}", &sql[..60]);
    }
    assert_eq!(scene.bytes(), before);
}

/// Sidecars of SQLite beside the imports, which an agent can write, change nothing of what is read.
#[test]
fn a_forged_journal_is_not_played_back() {
    let scene = scene();
    for name in ["datasets.sqlite-journal", "datasets.sqlite-wal"] {
        std::fs::write(scene.place.workspace().join(name), [0xd9; 4096]).unwrap();
    }
    let answer = ask(&scene.datasets, "SELECT count(*) FROM customers", &[]).unwrap();
    assert_eq!(answer.rows, [[json!(6)]]);
}
