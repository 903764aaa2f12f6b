//! Fills a database by plain SQL, many rows a second, as a long life of the daemon would have left it.
//! The rows must be such as the verbs write them; only the way they come in is shorter.

use rusqlite::Connection;
use std::path::Path;

/// The shape of a UUIDv7, in order: `kind` tells sessions from tasks.
const ID: &str =
    "printf('%08x-%04x-7%03x-8000-00000000000%d', 0x01930000 + n / 65536, n % 65536, 0, KIND)";
const OBJECTIVE: &str =
    "Refactor the module so that its tests pass, then write down what was changed and why.";

fn open(state: &Path) -> Connection {
    let connection = Connection::open(state.join(ralphd::store::DATABASE_FILE)).expect("open");
    // Only the filling is fast and loose; the daemon opens its own connection.
    connection
        .execute_batch(
            "PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; PRAGMA foreign_keys = OFF;",
        )
        .expect("prepare");
    connection
}

fn insert(connection: &Connection, count: usize, statement: &str) {
    insert_beside(connection, count, statement, "");
}

/// The same, with further tables beside the numbers.
fn insert_beside(connection: &Connection, count: usize, statement: &str, beside: &str) {
    let statement = statement
        .replace("SESSION_ID", &ID.replace("KIND", "1"))
        .replace("TASK_ID", &ID.replace("KIND", "2"))
        .replace("OBJECTIVE", &format!("'{OBJECTIVE}'"));
    let numbered = format!(
        "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count}) {statement} FROM numbers {beside}"
    );
    // The common table expression of SQLite stands before INSERT.
    connection.execute_batch(&numbered).expect("fill");
}

/// Sessions that wait in the queue.
pub fn pending(state: &Path, count: usize) {
    let connection = open(state);
    connection.execute_batch("BEGIN").expect("begin");
    insert(
        &connection,
        count,
        "INSERT INTO sessions (id, status, objective, agent, \"trigger\", origin, request, max_iterations, completion_promise, task_count, workspace, created_at_ms)
         SELECT SESSION_ID, 'created', OBJECTIVE, 'bench', 'inbox', 'request', '{\"objective\":\"x\"}', 10, 'TASK_COMPLETE', 1, '/workspaces/run/' || n, 1700000000000 + n",
    );
    insert(
        &connection,
        count,
        "INSERT INTO tasks (id, session_id, task_order, task_type, description, status, agent, run_at_ms)
         SELECT TASK_ID, SESSION_ID, 1, 'agent', OBJECTIVE, 'pending', 'bench', 1700000000000 + n",
    );
    finish(&connection);
}

/// Gives the last tasks of the queue to another agent.
pub fn reassign(state: &Path, agent: &str, count: usize) {
    let last = format!("SELECT id FROM tasks ORDER BY id DESC LIMIT {count}");
    open(state)
        .execute(
            &format!("UPDATE tasks SET agent = ?1 WHERE id IN ({last})"),
            [agent],
        )
        .expect("reassign");
}

/// Sessions that ended and were reported, each with its task, an iteration and four events.
pub fn ended(state: &Path, count: usize) {
    let connection = open(state);
    connection.execute_batch("BEGIN").expect("begin");
    insert(
        &connection,
        count,
        "INSERT INTO sessions (id, status, end_reason, objective, agent, \"trigger\", origin, request, max_iterations, completion_promise, iteration_count,
            verified, task_count, completed_task_count, final_answer, workspace, created_at_ms, started_at_ms, ended_at_ms, reported_at_ms)
         SELECT SESSION_ID, 'completed', 'completed', OBJECTIVE, 'bench', 'inbox', 'request', '{\"objective\":\"x\"}', 10, 'TASK_COMPLETE', 1,
            'claimed', 1, 1, OBJECTIVE, '/workspaces/run/' || n, 1700000000000 + n, 1700000000001 + n, 1700000000002 + n, 1700000000003 + n",
    );
    insert(
        &connection,
        count,
        "INSERT INTO tasks (id, session_id, task_order, task_type, description, status, agent, run_at_ms, claim_number, started_at_ms, ended_at_ms)
         SELECT TASK_ID, SESSION_ID, 1, 'agent', OBJECTIVE, 'completed', 'bench', 1700000000000 + n, 1, 1700000000001 + n, 1700000000002 + n",
    );
    insert(
        &connection,
        count,
        "INSERT INTO iterations (id, session_id, task_id, number, verdict, counted, exit_code, final_text, prompt_file, output_file, started_at_ms, ended_at_ms)
         SELECT SESSION_ID, SESSION_ID, TASK_ID, 1, 'promised', 1, 0, OBJECTIVE, '/logs/0001.prompt.md', '/logs/0001.log', 1700000000001 + n, 1700000000002 + n",
    );
    // In the order of time, as a history is.
    insert_beside(
        &connection,
        count,
        "INSERT INTO events (session_id, task_id, at_ms, type, data)
         SELECT SESSION_ID, TASK_ID, 1700000000000 + n, kinds.column1, '{\"from\":\"executing\",\"to\":\"completed\"}'",
        "JOIN (VALUES ('session.created'), ('task.running'), ('task.completed'), ('session.completed')) AS kinds ORDER BY n",
    );
    finish(&connection);
}

/// Gives the first session many more iterations, the last with this log; returns its id.
pub fn long(state: &Path, count: usize, log: &Path) -> String {
    let connection = open(state);
    connection.execute_batch("BEGIN").expect("begin");
    let log = log.display();
    insert(
        &connection,
        count,
        &format!(
            "INSERT INTO iterations (id, session_id, task_id, number, verdict, counted, exit_code, final_text, prompt_file, output_file, started_at_ms, ended_at_ms)
         SELECT 'turn-' || n, (SELECT id FROM sessions), (SELECT id FROM tasks), n + 1, 'unfinished', 1, 0, OBJECTIVE, '/logs/0001.prompt.md', '{log}', 1700000000001 + n, 1700000000002 + n"
        ),
    );
    // What each of them changed: twenty files.
    let file = r#"{"path":"src/somewhere/in/the/module.rs","added":10,"removed":2}"#;
    let facts = format!(r#"{{"file_count":20,"files":[{}]}}"#, [file; 20].join(","));
    insert(
        &connection,
        count,
        &format!(
            "INSERT INTO restore_points (session_id, number, after_number, ground, place, commit_id, facts, remarks, iteration_count, at_ms)
         SELECT (SELECT id FROM sessions), n, n - 1, 'own', '/workspaces/run/1', printf('%040x', n), '{facts}', '[]', n, 1700000000000 + n"
        ),
    );
    finish(&connection);
    connection
        .query_row("SELECT id FROM sessions", [], |row| row.get(0))
        .expect("a session")
}

fn finish(connection: &Connection) {
    connection
        .execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
        .expect("commit");
}
