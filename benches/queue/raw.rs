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

enum Wish {
    Push(i64),
    Claim,
    Complete(i64),
}

type Waiting = (Wish, oneshot::Sender<i64>);

/// The times to push and to drain all jobs.
pub async fn round() -> (Duration, Duration) {
    let directory = place();
    let connection = Connection::open(directory.path().join("raw.db")).expect("open");
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        .and_then(|()| connection.execute_batch(SCHEMA))
        .expect("prepare");
    let (sender, receiver) = mpsc::channel(4096);
    let writer = std::thread::spawn(move || write(&connection, receiver));
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
            let id = ask(&to, Wish::Claim).await;
            ask(&to, Wish::Complete(id)).await;
        }
    })
    .await;
    drop(sender);
    writer.join().expect("the writer");
    (push, drain)
}

async fn ask(to: &mpsc::Sender<Waiting>, wish: Wish) -> i64 {
    let (tell, told) = oneshot::channel();
    to.send((wish, tell)).await.expect("the writer lives");
    told.await.expect("the writer answers")
}

fn write(connection: &Connection, mut waiting: mpsc::Receiver<Waiting>) {
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

fn grant(connection: &Connection, wish: Wish) -> rusqlite::Result<i64> {
    match wish {
        Wish::Push(at) => {
            connection
                .prepare_cached(PUSH)?
                .execute(params![at, PAYLOAD])?;
            Ok(0)
        }
        Wish::Claim => connection
            .prepare_cached(CLAIM)?
            .query_row(["bench"], |row| row.get(0)),
        Wish::Complete(id) => {
            connection.prepare_cached(COMPLETE)?.execute([id])?;
            Ok(id)
        }
    }
}
