//! The verbs of the `workers` table: the processes that claim tasks. A row says enough to tell, on the same host, whether one still lives.

use super::driver::{Row, Sql, values};
use super::query;
use crate::model::words::words;
use anyhow::Result;

words! {
    /// What a worker does: a daemon, or one session in the foreground.
    pub enum Role {
        Serve => "serve",
        Run => "run",
    }
}

/// A process that claims tasks.
#[derive(Clone, Debug)]
pub struct Worker {
    pub id: String,
    pub role: Role,
    pub pid: i64,
    pub pid_started: i64,
    pub boot_id: String,
    pub host: String,
    pub started_at_ms: i64,
    pub stopped_at_ms: Option<i64>,
}

/// Adds a worker.
pub fn register(sql: &mut dyn Sql, worker: &Worker) -> Result<()> {
    sql.run(
        query!("workers_register"),
        values![
            &worker.id,
            worker.role.as_str(),
            worker.pid,
            worker.pid_started,
            &worker.boot_id,
            &worker.host,
            env!("CARGO_PKG_VERSION"),
            worker.started_at_ms,
        ],
    )?;
    Ok(())
}

/// The worker is alive.
pub fn beat(sql: &mut dyn Sql, id: &str, at_ms: i64) -> Result<()> {
    sql.run(query!("workers_beat"), values![id, at_ms])?;
    Ok(())
}

/// The worker stopped of its own accord.
pub fn stop(sql: &mut dyn Sql, id: &str, at_ms: i64) -> Result<()> {
    sql.run(query!("workers_stop"), values![id, at_ms])?;
    Ok(())
}

/// Drops workers not heard of since `before_ms` that hold nothing.
pub fn forget(sql: &mut dyn Sql, before_ms: i64) -> Result<usize> {
    sql.run(query!("workers_forget"), values![before_ms])
}

/// The worker with this id.
pub fn get(sql: &mut dyn Sql, id: &str) -> Result<Option<Worker>> {
    let row = sql.row(query!("workers_get"), values![id])?;
    row.as_ref().map(from_row).transpose()
}

/// Workers that have not said goodbye, newest first; whether they live is another question.
pub fn unstopped(sql: &mut dyn Sql, limit: u32) -> Result<Vec<Worker>> {
    let rows = sql.rows(query!("workers_unstopped"), values![limit])?;
    rows.iter().map(from_row).collect()
}

fn from_row(row: &Row) -> Result<Worker> {
    Ok(Worker {
        id: row.text("id")?,
        role: row.word("role")?,
        pid: row.int("pid")?,
        pid_started: row.int("pid_started")?,
        boot_id: row.text("boot_id")?,
        host: row.text("host")?,
        started_at_ms: row.int("started_at_ms")?,
        stopped_at_ms: row.optional_int("stopped_at_ms")?,
    })
}
