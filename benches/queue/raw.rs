//! The limit: one thread that commits whatever waits, and one small table.

use super::by_many;
use super::support::place;
use rusqlite::{Connection, params};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

const MAX_JOBS_PER_COMMIT: usize = 256;
const SCHEMA: &str = "
    CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT NOT NULL, priority INTEGER NOT NULL, run_at_ms INTEGER NOT NULL, payload TEXT NOT NULL, owner TEXT);
    CREATE INDEX ready ON jobs (priority DESC, run_at_ms, id) WHERE state = 'pending';";
const PUSH: &str =
    "INSERT INTO jobs (state, priority, run_at_ms, payload) VALUES ('pending', 0, ?1, ?2)";
const CLAIM: &str = "
    UPDATE jobs SET state = 'running', owner = ?1
    WHERE id = (SELECT id FROM jobs WHERE state = 'pending' ORDER BY priority DESC, run_at_ms, id LIMIT 1) RETURNING id";
const COMPLETE: &str = "UPDATE jobs SET state = 'completed', owner = NULL WHERE id = ?1";
const PAYLOAD: &str =
    "Refactor the module so that its tests pass, then write down what was changed and why.";

/// What one of the crowd wants; `T` is what a claim is known by.
pub enum Wish<T> {
    Push(i64),
    Claim,
    Complete(T),
}

type Waiting<T> = (Wish<T>, oneshot::Sender<Option<T>>);

/// The times to push and to drain all jobs.
pub async fn round() -> (Duration, Duration) {
    let directory = place();
    let connection = Connection::open(directory.path().join("raw.db")).expect("open");
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        .and_then(|()| connection.execute_batch(SCHEMA))
        .expect("prepare");
    round_over(connection, grant).await
}

/// The same over other tables: `grant` fulfils one wish inside a transaction, and answers a claim.
pub async fn round_over<T: Send + 'static>(
    connection: Connection,
    grant: impl Fn(&Connection, Wish<T>) -> rusqlite::Result<Option<T>> + Send + 'static,
) -> (Duration, Duration) {
    let (sender, receiver) = mpsc::channel(4096);
    let writer = std::thread::spawn(move || write(&connection, receiver, grant));
    let to = sender.clone();
    let push = by_many(move |number| {
        let to = to.clone();
        async move {
            ask(&to, Wish::Push(number as i64)).await;
        }
    })
    .await;
    let to = sender.clone();
    let drain = by_many(move |_| {
        let to = to.clone();
        async move {
            let claim = ask(&to, Wish::Claim).await.expect("a job is ready");
            ask(&to, Wish::Complete(claim)).await;
        }
    })
    .await;
    drop(sender);
    writer.join().expect("the writer");
    (push, drain)
}

async fn ask<T>(to: &mpsc::Sender<Waiting<T>>, wish: Wish<T>) -> Option<T> {
    let (tell, told) = oneshot::channel();
    let sent = to.send((wish, tell)).await;
    assert!(sent.is_ok(), "the writer lives");
    told.await.expect("the writer answers")
}

fn write<T>(
    connection: &Connection,
    mut waiting: mpsc::Receiver<Waiting<T>>,
    grant: impl Fn(&Connection, Wish<T>) -> rusqlite::Result<Option<T>>,
) {
    let mut batch = Vec::with_capacity(MAX_JOBS_PER_COMMIT);
    let mut answers = Vec::with_capacity(MAX_JOBS_PER_COMMIT);
    let run = |statement: &str| -> rusqlite::Result<usize> {
        connection.prepare_cached(statement)?.execute([])
    };
    while let Some(first) = waiting.blocking_recv() {
        batch.push(first);
        while batch.len() < MAX_JOBS_PER_COMMIT
            && let Ok(next) = waiting.try_recv()
        {
            batch.push(next);
        }
        run("BEGIN IMMEDIATE").expect("begin");
        for (wish, tell) in batch.drain(..) {
            answers.push((grant(connection, wish).expect("a statement"), tell));
        }
        run("COMMIT").expect("commit");
        for (answer, tell) in answers.drain(..) {
            let _ = tell.send(answer);
        }
    }
}

fn grant(connection: &Connection, wish: Wish<i64>) -> rusqlite::Result<Option<i64>> {
    match wish {
        Wish::Push(at) => {
            connection
                .prepare_cached(PUSH)?
                .execute(params![at, PAYLOAD])?;
            Ok(None)
        }
        Wish::Claim => connection
            .prepare_cached(CLAIM)?
            .query_row(["bench"], |row| row.get(0))
            .map(Some),
        Wish::Complete(id) => {
            connection.prepare_cached(COMPLETE)?.execute([id])?;
            Ok(None)
        }
    }
}
