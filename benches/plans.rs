//! Plans through the whole engine: the real daemon, on one processor, works through workflows of tasks that do nothing (`merge` with
//! nothing to merge), each claimed and settled by durable commits. And whether a task costs more in a large plan than in a small one.

mod support;

use rusqlite::Connection;
use rustix::thread::CpuSet;
use std::fmt::Write;
use std::path::Path;
use support::daemon::{Daemon, configuration};
use support::{Target, figure, place, wait_for};

/// Tasks side by side in a layer.
const WIDTH: usize = 100;
const LAYERS: usize = 100;
/// A small plan is over in a moment: so many of them are measured.
const SMALL_PLANS: usize = 30;
const LEAST_PER_SECOND: f64 = 5000.0;

fn main() {
    let mut first = CpuSet::new();
    first.set(0);
    // The daemon inherits it.
    rustix::thread::sched_setaffinity(None, &first).expect("stay on one processor");
    let directory = place();
    let state = directory.path().join("state");
    let workflows = directory.path().join("workflows");
    std::fs::create_dir_all(&workflows).expect("make the directory");
    write_workflow(&workflows, "small", 1);
    write_workflow(&workflows, "large", LAYERS);
    let config = format!(
        "{}[queue]\nmax_parallel = 64\n[workflows]\ndir = {workflows:?}\n",
        configuration(&["/bin/echo", "done"])
    );
    let daemon = Daemon::start(&state, &config);
    let mut small: Vec<f64> = (0..SMALL_PLANS)
        .map(|number| seconds_per_task(&daemon, "small", number))
        .collect();
    small.sort_by(f64::total_cmp);
    let small = small[SMALL_PLANS / 2];
    let large = seconds_per_task(&daemon, "large", 0);
    figure(
        "plans: tasks through the engine, one processor",
        &format!("{:.0}/s", 1.0 / large),
        &format!("{LEAST_PER_SECOND:.0}/s"),
        1.0 / large / LEAST_PER_SECOND,
        Target::AtLeast(1.0),
    );
    figure(
        "plans: a task of 10,000 in 100 layers",
        &format!("{:.0} us", large * 1e6),
        &format!("{:.0} us of 100", small * 1e6),
        large / small,
        Target::AtMost(1.3),
    );
}

/// Each task needs two of the layer before.
fn write_workflow(directory: &Path, name: &str, layers: usize) {
    let mut text = String::from("description = 'nothing, many times'\n");
    for layer in 0..layers {
        for column in 0..WIDTH {
            let order = layer * WIDTH + column + 1;
            let _ = write!(
                text,
                "[[tasks]]\norder = {order}\ntype = 'merge'\ndescription = 'nothing'\n"
            );
            if layer > 0 {
                let above = (layer - 1) * WIDTH + 1;
                let neighbour = above + (column + 1) % WIDTH;
                let _ = writeln!(text, "depends_on = [{}, {neighbour}]", above + column);
            }
        }
    }
    std::fs::write(directory.join(format!("{name}.toml")), text).expect("write the workflow");
}

/// From the first claim of a task to the end of the last.
fn seconds_per_task(daemon: &Daemon, workflow: &str, number: usize) -> f64 {
    let name = format!("{workflow}-{number}");
    let request = format!("---\nplan: {workflow}\nidempotency_key: {name}\n---\nWork through it.");
    daemon.drop_request(&format!("{name}.md"), &request);
    let database = daemon.state.join(ralphd::store::DATABASE_FILE);
    let rows = Connection::open(database).expect("open the database");
    let of_session = "(SELECT id FROM sessions WHERE dedupe_key = ?1 AND status = 'completed')";
    let query = format!(
        "SELECT count(*), max(ended_at_ms) - min(started_at_ms) FROM tasks WHERE session_id = {of_session} AND task_order > 0"
    );
    wait_for("the plan", || {
        let found = rows.query_row(&query, [&name], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?))
        });
        let (count, took_ms) = found.expect("look at the tasks");
        took_ms.map(|took_ms| took_ms as f64 / 1000.0 / count as f64)
    })
}
