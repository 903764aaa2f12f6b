//! How fast a large CSV file becomes a table, beside the `sqlite3` shell's own import of the same file in the same run, and how
//! much memory that takes.

mod support;

use ralphd::dataset::{Datasets, ImportLimits, QueryLimits, Question, Source};
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use support::{bound, millis, place};

const ROWS: u64 = 1_000_000;
const MAX_SECONDS: f64 = 8.0;
/// The shell stores text as it comes; we look at every cell twice.
const MAX_RATIO: f64 = 1.5;
const MAX_MEMORY_MIB: f64 = 64.0;
const ROUNDS: usize = 3;

fn main() {
    let place = place();
    let file = place.path().join("sales.csv");
    write_rows(&file);
    let megabytes = std::fs::metadata(&file).expect("look at it").len() as f64 / 1e6;
    println!("dataset: {ROWS} rows, {megabytes:.0} MB");
    let before = peak_mib();
    // In turns, so that a busy machine slows both.
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        ours = ours.min(import(place.path(), &file));
        theirs = theirs.min(import_by_shell(place.path(), &file));
    }
    let memory = peak_mib() - before;
    let seconds = ours.as_secs_f64();
    bound("dataset: 1 M rows of CSV", seconds, "s", MAX_SECONDS);
    let ratio = seconds / theirs.as_secs_f64();
    bound("dataset: beside sqlite3 .import", ratio, "x", MAX_RATIO);
    bound(
        "dataset: more memory at the peak",
        memory,
        "MiB",
        MAX_MEMORY_MIB,
    );
    ask(place.path(), &file);
}

fn write_rows(path: &Path) {
    let mut file = BufWriter::new(std::fs::File::create(path).expect("make the file"));
    writeln!(
        file,
        "id,customer,region,ordered,quantity,price,zip,paid,comment"
    )
    .expect("write");
    let mut line = String::new();
    for id in 0..ROWS {
        line.clear();
        let region = ["East", "West", "North", "South"][(id % 4) as usize];
        let (day, month) = (id % 28 + 1, id % 12 + 1);
        let _ = writeln!(
            line,
            "{id},customer number {},{region},2024-{month:02}-{day:02},{},{}.{:02},{:05},{},\"said, on day {day}, that it was fine\"",
            id * 7919 % 50_000,
            id % 9,
            id % 1000,
            id % 100,
            id % 99_999,
            id % 3 == 0,
        );
        file.write_all(line.as_bytes()).expect("write");
    }
    file.flush().expect("write");
}

fn import(workspace: &Path, file: &Path) -> Duration {
    let _ = std::fs::remove_file(workspace.join(ralphd::dataset::FILE));
    let started = Instant::now();
    let datasets = prepare(workspace, file);
    let took = started.elapsed();
    assert_eq!(datasets.schema().tables[0].row_count, Some(ROWS));
    assert!(!datasets.reused());
    took
}

fn prepare(workspace: &Path, file: &Path) -> Datasets {
    let sources = [Source::Path(file.to_owned())];
    Datasets::prepare(workspace, &sources, &ImportLimits::default()).expect("import")
}

fn import_by_shell(workspace: &Path, file: &Path) -> Duration {
    let database = workspace.join("shell.sqlite");
    let _ = std::fs::remove_file(&database);
    let started = Instant::now();
    let status = Command::new("sqlite3")
        .arg(&database)
        .args([
            "-cmd",
            "PRAGMA journal_mode=OFF",
            "-cmd",
            "PRAGMA synchronous=OFF",
        ])
        .args([".mode csv", &format!(".import {} sales", file.display())])
        .stdout(std::process::Stdio::null())
        .status()
        .expect("run sqlite3");
    assert!(status.success());
    started.elapsed()
}

fn ask(workspace: &Path, file: &Path) {
    let started = Instant::now();
    let datasets = prepare(workspace, file);
    assert!(datasets.reused());
    println!(
        "dataset: taking up an import: {:.1} ms",
        millis(started.elapsed())
    );
    let question = Question {
        sql: "SELECT region, count(*), sum(quantity * price) FROM sales WHERE paid GROUP BY region",
        ..Question::default()
    };
    let started = Instant::now();
    let rows = datasets
        .query(&question, &QueryLimits::default())
        .expect("ask");
    assert_eq!(rows.rows.len(), 4);
    println!(
        "dataset: a sum over all rows: {:.0} ms",
        millis(started.elapsed())
    );
}

/// The most memory this process has had so far.
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("read /proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.expect("a number") / 1024.0
}
