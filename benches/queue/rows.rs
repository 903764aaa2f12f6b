//! The rows of the store written by plain rusqlite and nothing else: how much of the distance to the limit is SQLite's own work on
//! tables that people can read. It has none of the looks that the verbs take (followers, sub-agents, workspaces), and once not even
//! what guards and finds those rows.

use super::ours::{self, LEASE_MS, OBJECTIVE};
use super::raw::{self, Wish};
use super::support::place;
use ralphd::clock::{new_id, now_ms};
use ralphd::store::{DATABASE_FILE, Store};
use rusqlite::{Connection, Params, Result, params};
use std::time::Duration;

const PRAGMAS: &str = "
    PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;";
/// Those that a claim does not need.
const INDEXES: &str = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND name <> 'tasks_ready'";
const WORKER: &str = "bench";
const NOTHING: Option<&str> = None;

macro_rules! statement {
    ($name:literal) => {
        include_str!(concat!("../../sql/queries/", $name, ".sql"))
    };
}

/// What there is beside the rows.
#[derive(Clone, Copy, PartialEq)]
pub enum Around {
    /// All that the store has.
    Everything,
    /// Nothing but the primary keys and the queue's order: no other index, no check, no foreign key.
    Nothing,
}

/// The times to push and to drain all jobs.
pub async fn round(around: Around) -> (Duration, Duration) {
    let directory = place();
    // Only for its tables.
    drop(Store::open(directory.path()).expect("open the store"));
    let connection = Connection::open(directory.path().join(DATABASE_FILE)).expect("open");
    connection.execute_batch(PRAGMAS).expect("prepare");
    if around == Around::Nothing {
        strip(&connection).expect("strip the tables");
    }
    let request = ours::request();
    raw::round_over(connection, move |connection, wish| {
        let rows = Rows(connection);
        match wish {
            Wish::Push(_) => rows.push(&request).map(|()| None),
            Wish::Claim => rows.claim().map(Some),
            Wish::Complete(claim) => rows.complete(&claim).map(|()| None),
        }
    })
    .await
}

fn strip(connection: &Connection) -> Result<()> {
    let names: Vec<String> = connection
        .prepare(INDEXES)?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_>>()?;
    for name in names {
        connection.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
}

struct Claimed {
    task: String,
    session: String,
    number: i64,
}

struct Rows<'c>(&'c Connection);

impl Rows<'_> {
    fn run(&self, statement: &str, values: impl Params) -> Result<()> {
        self.0.prepare_cached(statement)?.execute(values).map(drop)
    }

    fn tell(&self, session: &str, task: Option<&str>, kind: &str, facts: &str) -> Result<()> {
        self.run(
            statement!("events_add"),
            params![session, task, now_ms(), kind, facts],
        )
    }

    fn push(&self, request: &str) -> Result<()> {
        let (session, task, at_ms) = (new_id(), new_id(), now_ms());
        let workspace = format!("/var/lib/ralphd/workspaces/run/{session}");
        self.run(
            statement!("sessions_create"),
            params![
                session,
                OBJECTIVE,
                WORKER,
                "inbox",
                "request",
                NOTHING,
                request,
                10,
                "TASK_COMPLETE",
                NOTHING,
                NOTHING,
                0,
                workspace,
                NOTHING,
                at_ms,
                NOTHING,
                1,
                NOTHING,
                0
            ],
        )?;
        let facts = r#"{"trigger":"inbox","agent":"bench","origin":"request"}"#;
        self.tell(&session, None, "session.created", facts)?;
        self.run(
            statement!("tasks_create"),
            params![
                task, session, 1, "agent", OBJECTIVE, "pending", WORKER, 0, NOTHING, at_ms, 1,
                NOTHING, 0, NOTHING, NOTHING
            ],
        )
    }

    fn claim(&self) -> Result<Claimed> {
        let at_ms = now_ms();
        let claimed = self
            .0
            .prepare_cached(statement!("tasks_claim"))?
            .query_row(params![WORKER, at_ms + LEASE_MS, at_ms], |row| {
                Ok(Claimed {
                    task: row.get(0)?,
                    session: row.get(1)?,
                    number: row.get(2)?,
                })
            })?;
        let facts = r#"{"from":"pending","to":"running","worker":"bench","claim":1}"#;
        self.tell(&claimed.session, Some(&claimed.task), "task.running", facts)?;
        self.run(
            statement!("sessions_start"),
            params![claimed.session, "created", "executing", at_ms],
        )?;
        let facts = r#"{"from":"created","to":"executing"}"#;
        self.tell(&claimed.session, None, "session.executing", facts)?;
        Ok(claimed)
    }

    fn complete(&self, claimed: &Claimed) -> Result<()> {
        let at_ms = now_ms();
        let result = r#"{"answer":"Refactor the module so that its tests pass, then write down what was changed and why.","verified":"claimed"}"#;
        self.run(
            statement!("tasks_settle"),
            params![
                claimed.task,
                WORKER,
                claimed.number,
                "completed",
                result,
                OBJECTIVE,
                NOTHING,
                NOTHING,
                at_ms
            ],
        )?;
        let facts = r#"{"from":"running","to":"completed"}"#;
        self.tell(
            &claimed.session,
            Some(&claimed.task),
            "task.completed",
            facts,
        )?;
        self.run(
            statement!("sessions_end"),
            params![
                claimed.session,
                "executing",
                "completed",
                at_ms,
                "completed",
                NOTHING,
                OBJECTIVE,
                "claimed",
                1,
                0
            ],
        )?;
        let facts = r#"{"from":"executing","to":"completed","end_reason":"completed","detail":null,"verified":"claimed"}"#;
        self.tell(&claimed.session, None, "session.completed", facts)
    }
}
