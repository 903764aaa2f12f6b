//! SQL that means harm, sent by the mightiest role there is: refused or bounded, and the server is as it was.

use super::{prepare, shop};
use crate::support::postgres::Postgres;
use ralphd::dataset::{Fault, QueryLimits, Question};
use std::time::Duration;

/// Refused.
const REFUSED: &[&str] = &[
    "INSERT INTO customers VALUES (9, 'x')",
    "UPDATE customers SET name = 'x'",
    "DELETE FROM customers",
    "TRUNCATE customers",
    "MERGE INTO customers c USING customers d ON c.id = d.id WHEN MATCHED THEN DELETE",
    "WITH gone AS (DELETE FROM customers RETURNING *) SELECT * FROM gone",
    "WITH x AS (INSERT INTO customers VALUES (9, 'x') RETURNING id) SELECT id FROM x",
    "WITH x AS (SELECT 1) UPDATE customers SET name = 'x' RETURNING id",
    "SELECT * INTO evil FROM customers",
    "SELECT id INTO TEMP evil FROM customers",
    "SELECT * FROM customers FOR UPDATE",
    "SELECT * FROM customers FOR SHARE",
    "CREATE TABLE evil (x int)",
    "CREATE TEMP TABLE evil AS SELECT 1",
    "CREATE FUNCTION evil() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "DROP TABLE customers",
    "ALTER TABLE customers ADD COLUMN x int",
    "ALTER SYSTEM SET log_statement = 'all'",
    "GRANT ALL ON customers TO PUBLIC",
    "CREATE ROLE evil SUPERUSER",
    "COPY customers TO '{elsewhere}'",
    "COPY customers TO PROGRAM 'cat > {elsewhere}'",
    "COPY customers FROM PROGRAM 'echo 9'",
    "COPY (SELECT 1) TO STDOUT",
    "DO $$ BEGIN DELETE FROM customers; END $$",
    "CALL evil()",
    "EXECUTE evil",
    "PREPARE evil AS DELETE FROM customers",
    "EXPLAIN ANALYZE DELETE FROM customers",
    "DECLARE evil CURSOR FOR SELECT 1",
    "VACUUM",
    "LISTEN evil",
    "NOTIFY evil",
    "LOCK TABLE customers",
    "LOAD 'auto_explain'",
    "CHECKPOINT",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SET TRANSACTION READ WRITE",
    "SET default_transaction_read_only = off",
    "RESET ALL",
    "SELECT 1; DELETE FROM customers",
    "SELECT 1;;; COMMIT; DROP TABLE customers",
    "SELECT 1) AS x; DELETE FROM customers; --",
    "SELECT 1) q; COMMIT; DELETE FROM customers; SELECT * FROM (SELECT 1",
    "SELECT 1 FROM customers) AS asked (c0) WHERE (SELECT true",
    "/* SELECT */ DELETE FROM customers",
    "SELECT nextval('\"Order_id_seq\"')",
    "SELECT setval('\"Order_id_seq\"', 99)",
    "SELECT pg_catalog.nextval /* x */ ('\"Order_id_seq\"')",
    "SELECT \"nextval\"('\"Order_id_seq\"')",
    "SELECT U&\"\\006eextval\"('\"Order_id_seq\"')",
    "SELECT E'a'\n'b\\'c', nextval('\"Order_id_seq\"'), 'd'",
    "SELECT set_config('statement_timeout', '0', false)",
    "SELECT set_config('transaction_read_only', 'off', true)",
    "SELECT setseed(0.5)",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_read_binary_file('/etc/passwd')",
    "SELECT * FROM pg_ls_dir('/')",
    "SELECT pg_stat_file('/etc/passwd')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_export(1, '{elsewhere}')",
    "SELECT lo_create(77)",
    "SELECT lo_from_bytea(78, 'x')",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
    "SELECT pg_cancel_backend(pg_backend_pid())",
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_try_advisory_lock(1)",
    "SELECT pg_notify('evil', 'x')",
    "SELECT pg_reload_conf()",
    "SELECT pg_rotate_logfile()",
    "SELECT pg_switch_wal()",
    "SELECT pg_create_restore_point('evil')",
    "SELECT pg_create_physical_replication_slot('evil')",
    "SELECT pg_logical_emit_message(false, 'evil', 'x')",
    "SELECT pg_stat_reset()",
    "SELECT pg_export_snapshot()",
    "SELECT * FROM dblink('host=/tmp', 'DELETE FROM customers') AS t(x int)",
    "SELECT query_to_xml('SELECT pg_sleep(1)', true, true, '')",
    "SELECT query_to_xml('SELECT next' || 'val(''\"Order_id_seq\"'')', true, true, '')",
    "SELECT ts_stat('SELECT 1')",
    "SELECT meddle()",
    "SELECT * FROM Meddle ()",
    "SELECT \"Odd name\"()",
    "UPDATE pg_settings SET setting = 'off' WHERE name = 'fsync'",
    "SELECT * FROM customers WHERE id = $1",
];

/// Allowed, and stopped by a limit or soon over.
const BOUNDED: &[&str] = &[
    "SELECT pg_sleep(100)",
    "SELECT count(*) FROM generate_series(1, 10000000000)",
    "SELECT * FROM generate_series(1, 10000000000)",
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
    "SELECT repeat('x', 1000000000)",
    "SELECT repeat('x', 1000000) FROM generate_series(1, 1000000)",
    "SELECT repeat('(a+)+', 100) ~ repeat('(a*)*', 20)",
    "SELECT count(*) FROM pg_class a, pg_class b, pg_class c, pg_class d",
    "SELECT 'DELETE FROM customers; DROP TABLE customers'",
    "SELECT * FROM pg_stat_activity",
];

/// Everything that the statements above would change.
const STATE: &str = "
    SELECT c::text FROM customers c ORDER BY id;
    SELECT o::text FROM \"Order\" o ORDER BY id;
    SELECT last_value || ' ' || is_called FROM \"Order_id_seq\";
    SELECT count(*) FROM meddled;
    SELECT relname || ' ' || relnatts || ' ' || coalesce(relacl::text, '') FROM pg_class ORDER BY 1;
    SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1;
    SELECT rolname || ' ' || rolsuper FROM pg_roles ORDER BY 1;
    SELECT oid::text FROM pg_largeobject_metadata;
    SELECT slot_name::text FROM pg_replication_slots;
    SELECT name || ' ' || setting FROM pg_settings WHERE name IN ('log_statement', 'fsync', 'default_transaction_read_only');
    SELECT locktype FROM pg_locks WHERE locktype = 'advisory';
    SELECT setting FROM pg_file_settings ORDER BY 1";

fn try_all(postgres: &Postgres, datasets: &ralphd::dataset::Datasets) {
    let elsewhere = postgres.directory().join("elsewhere");
    let limits = QueryLimits {
        time: Duration::from_millis(400),
        ..QueryLimits::default()
    };
    let before = postgres.run(STATE);
    let ask = |sql: &str| {
        let sql = sql.replace("{elsewhere}", &elsewhere.display().to_string());
        let question = Question {
            sql: &sql,
            ..Question::default()
        };
        let answer = datasets.query(&question, &limits);
        assert_eq!(postgres.run(STATE), before, "{sql}");
        assert!(!elsewhere.exists(), "{sql}");
        answer
    };
    for sql in REFUSED {
        let trouble = ask(sql).map(|rows| rows.rows).expect_err(sql);
        let refused = matches!(trouble.fault, Fault::Permission | Fault::SqlError);
        assert!(refused, "{sql}: {}: {trouble}", trouble.fault);
    }
    for sql in BOUNDED {
        match ask(sql) {
            Ok(rows) => assert!(rows.rows.len() <= 10_000, "{sql}"),
            Err(trouble) => {
                let bounded = matches!(trouble.fault, Fault::Timeout | Fault::SqlError);
                assert!(bounded, "{sql}: {}: {trouble}", trouble.fault);
            }
        }
    }
}

#[test]
fn hostile_sql_is_refused_or_bounded() {
    let Some((place, postgres)) = shop() else {
        return;
    };
    postgres.run(
        "CREATE TABLE meddled (x int);
         CREATE FUNCTION meddle() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM pg_notify(''a'', ''b''); RETURN 1; END';
         CREATE FUNCTION \"Odd name\"() RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO meddled VALUES (1); RETURN 1; END'",
    );
    let datasets = prepare(&place, &postgres.address()).unwrap();
    try_all(&postgres, &datasets);
    assert!(REFUSED.len() >= 20);
}
