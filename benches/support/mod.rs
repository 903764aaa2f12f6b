//! What the benches share: a place on the real disk, a daemon that says when it is ready, percentiles, and one line per figure.
//! It must not judge beyond `ok` and `MISSED`: a bench never fails the process.

// Every bench is a program of its own and uses its own part of this.
#![allow(dead_code)]

pub mod daemon;
pub mod fill;

use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The longest wait for anything that has to happen.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A directory on the disk that the build is on: the system's temporary directory may be memory, where durable costs nothing.
pub fn place() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory for the bench")
}

/// Whether a larger or a smaller figure is the better one.
#[derive(Clone, Copy)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
}

/// Prints one figure beside the limit of the same run.
pub fn figure(name: &str, figure: &str, limit: &str, ratio: f64, target: Target) {
    let (met, wanted) = match target {
        Target::AtLeast(least) => (ratio >= least, format!(">= {least}")),
        Target::AtMost(most) => (ratio <= most, format!("<= {most}")),
    };
    let verdict = if met { "ok" } else { "MISSED" };
    println!(
        "{name:<44} {figure:>22}   limit {limit:>18}   ratio {ratio:>7.3} ({wanted})   {verdict}"
    );
}

/// Prints a figure whose limit is a fixed bound.
pub fn bound(name: &str, value: f64, unit: &str, most: f64) {
    figure(
        name,
        &format!("{value:.3} {unit}"),
        &format!("{most} {unit}"),
        value / most,
        Target::AtMost(1.0),
    );
}

/// Prints a figure that has no target but explains one that has.
pub fn note(name: &str, figure: &str) {
    println!("{name:<44} {figure:>22}");
}

/// The sample that `share` of all samples do not exceed.
pub fn percentile(samples: &mut [Duration], share: f64) -> Duration {
    samples.sort_unstable();
    let last = samples.len() - 1;
    samples[((last as f64) * share).round() as usize]
}

pub fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub fn per_second(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// Looks every millisecond until there is something to see.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Writes a program that may be run.
pub fn script(path: PathBuf, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(&path, text).expect("write a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
        .expect("make it executable");
    path
}
