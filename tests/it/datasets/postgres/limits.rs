//! Time, rows, room, and being told to stop.

use super::{prepare, shop};
use crate::support::wait_for;
use ralphd::dataset::{Datasets, Fault, QueryLimits, Question, Rows, Trouble};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn ask_within(datasets: &Datasets, sql: &str, limits: &QueryLimits) -> Result<Rows, Trouble> {
    let question = Question {
        sql,
        ..Question::default()
    };
    datasets.query(&question, limits)
}

/// How many statements still run for ralphd.
const RUNNING: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ralphd'";

#[test]
fn results_are_cut_at_their_limits() {
    let Some((place, postgres)) = shop() else {
        return;
    };
    let datasets = prepare(&place, &postgres.address()).unwrap();
    let limits = QueryLimits::default();
    let series = |rows: u32| format!("SELECT generate_series(1, {rows})");
    for (rows, expected) in [
        (10, (10, false)),
        (10_000, (10_000, false)),
        (100_000_000, (10_000, true)),
    ] {
        let answer = ask_within(&datasets, &series(rows), &limits).unwrap();
        assert_eq!((answer.rows.len(), answer.truncated), expected);
    }
    let answer = ask_within(
        &datasets,
        "SELECT repeat('x', 1000000) FROM generate_series(1, 1000)",
        &limits,
    )
    .unwrap();
    assert_eq!((answer.rows.len(), answer.truncated), (16, true));
    let small = QueryLimits {
        result_bytes: 1_000,
        ..limits.clone()
    };
    let answer = ask_within(
        &datasets,
        "SELECT repeat('x', 200) FROM generate_series(1, 9)",
        &small,
    )
    .unwrap();
    assert_eq!((answer.rows.len(), answer.truncated), (4, true));
    for (sql, limits, expected) in [
        ("SELECT repeat('x', 1000)", &small, "the first row alone"),
        (
            "SELECT repeat('x', 100000000)",
            &limits,
            "a value has more than 1048576 bytes",
        ),
    ] {
        let trouble = ask_within(&datasets, sql, limits).unwrap_err();
        assert_eq!(trouble.fault, Fault::SqlError);
        assert!(trouble.message.starts_with(expected), "{trouble}");
    }
    let columns = format!("SELECT 1{}", ", 1".repeat(500));
    let trouble = ask_within(&datasets, &columns, &limits).unwrap_err();
    assert_eq!(trouble.message, "501 columns; at most 500");
    let long = format!("SELECT '{}'", "x".repeat(100_000));
    assert!(ask_within(&datasets, &long, &limits).is_err());
    wait_for("no session is left", || {
        (postgres.run(RUNNING) == ["0"]).then_some(())
    });
}

#[test]
fn time_is_limited_and_a_stop_is_heard() {
    let Some((place, postgres)) = shop() else {
        return;
    };
    let datasets = prepare(&place, &postgres.address()).unwrap();
    let short = QueryLimits {
        time: Duration::from_millis(300),
        ..QueryLimits::default()
    };
    let endless =
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n";
    for sql in [
        "SELECT pg_sleep(1000)",
        endless,
        "SELECT pg_sleep(0.01) FROM generate_series(1, 100000)",
    ] {
        let trouble = ask_within(&datasets, sql, &short).unwrap_err();
        assert_eq!(trouble.fault, Fault::Timeout, "{trouble}");
        assert!(
            trouble
                .message
                .starts_with("the query took more than 0.3 s"),
            "{trouble}"
        );
        wait_for("the server has given up", || {
            (postgres.run(RUNNING) == ["0"]).then_some(())
        });
    }
    let stop = Arc::new(AtomicBool::new(false));
    let asked = std::thread::spawn({
        let (datasets, stop) = (datasets.clone(), stop.clone());
        move || {
            let question = Question {
                sql: "SELECT pg_sleep(1000)",
                stop: Some(stop),
                ..Question::default()
            };
            datasets.query(&question, &QueryLimits::default())
        }
    });
    wait_for("the query runs", || {
        (postgres.run(RUNNING) == ["1"]).then_some(())
    });
    stop.store(true, Ordering::Relaxed);
    let trouble = asked.join().unwrap().unwrap_err();
    assert_eq!(trouble.fault, Fault::Cancelled);
    wait_for("the server has given up", || {
        (postgres.run(RUNNING) == ["0"]).then_some(())
    });
}

/// Steps run inside an asynchronous daemon, on threads that may block.
#[test]
fn it_can_be_asked_from_an_asynchronous_program() {
    let Some((place, postgres)) = shop() else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let address = postgres.address();
    let answers = runtime.block_on(async {
        let datasets = tokio::task::spawn_blocking(move || prepare(&place, &address).unwrap())
            .await
            .unwrap();
        let ask = || {
            let datasets = datasets.clone();
            tokio::task::spawn_blocking(move || {
                ask_within(
                    &datasets,
                    "SELECT name FROM customers",
                    &QueryLimits::default(),
                )
            })
        };
        let (one, other) = tokio::join!(ask(), ask());
        drop(datasets);
        [one.unwrap().unwrap(), other.unwrap().unwrap()]
    });
    assert!(answers.iter().all(|answer| answer.rows.len() == 4));
}
