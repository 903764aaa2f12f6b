//! The process itself, under the names that all programs use for it: memory, processor, open files, since when.
//! What the kernel does not tell is left out.

use super::page::{Kind, Page};
use std::fs;

/// The position, from 1, of fields in /proc/PID/stat.
const USER_TICKS: usize = 14;
const SYSTEM_TICKS: usize = 15;
const STARTED_TICKS: usize = 22;
const VIRTUAL_BYTES: usize = 23;
const RESIDENT_PAGES: usize = 24;

pub(super) fn write(page: &mut Page) {
    page.family(
        "ralphd_build_info",
        Kind::Gauge,
        "The version that runs; the value is always 1.",
    )
    .value(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    let mut tell = |name, kind, help, value: Option<f64>| {
        if let Some(value) = value {
            page.family(name, kind, help).value(&[], value);
        }
    };
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    let seconds = |position| Some(field(&stat, position)? / ticks_per_second);
    tell(
        "process_cpu_seconds_total",
        Kind::Counter,
        "Processor time used, by the program and by the kernel for it.",
        seconds(USER_TICKS)
            .zip(seconds(SYSTEM_TICKS))
            .map(|(own, kernel)| own + kernel),
    );
    tell(
        "process_start_time_seconds",
        Kind::Gauge,
        "When the process started, in seconds since 1970.",
        seconds(STARTED_TICKS)
            .zip(booted_at())
            .map(|(since_boot, boot)| boot + since_boot),
    );
    tell(
        "process_virtual_memory_bytes",
        Kind::Gauge,
        "Address space in use.",
        field(&stat, VIRTUAL_BYTES),
    );
    tell(
        "process_resident_memory_bytes",
        Kind::Gauge,
        "Memory in use.",
        field(&stat, RESIDENT_PAGES).map(|pages| pages * rustix::param::page_size() as f64),
    );
    tell(
        "process_open_fds",
        Kind::Gauge,
        "Open files and connections.",
        fs::read_dir("/proc/self/fd")
            .ok()
            .map(|open| open.count() as f64),
    );
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    tell(
        "process_max_fds",
        Kind::Gauge,
        "The most files and connections that may be open.",
        limit.current.map(|most| most as f64),
    );
}

/// A number of /proc/PID/stat. The name of the program, in brackets, may hold spaces and brackets itself.
fn field(stat: &str, position: usize) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    // The field after the name is the third.
    let field = after_name.split_whitespace().nth(position - 3)?;
    field.parse().ok()
}

fn booted_at() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_any_name() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 1 0 0 0 25 30 0 0 20 0 9 0 500 4096 12 99";
        for (position, expected) in [
            (USER_TICKS, 25.0),
            (SYSTEM_TICKS, 30.0),
            (STARTED_TICKS, 500.0),
            (VIRTUAL_BYTES, 4096.0),
            (RESIDENT_PAGES, 12.0),
        ] {
            assert_eq!(field(stat, position), Some(expected));
        }
        assert_eq!(field("", USER_TICKS), None);
    }
}
