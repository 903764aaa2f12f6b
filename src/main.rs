//! The door: parse, call, turn the outcome into an exit code.

use clap::Parser;
use std::path::Path;

fn main() {
    // Everything ralphd makes is its owner's alone.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    std::process::exit(shim().unwrap_or_else(|| {
        let arguments = ralphd::cli::Arguments::parse();
        ralphd::cli::run(arguments).code()
    }));
}

/// A shim is started for every iteration: it goes in before anything costs time, opens a file or starts a thread.
fn shim() -> Option<i32> {
    let mut words = std::env::args_os().skip(1);
    let is_shim = words.next()? == "shim";
    let record = words.next().filter(|_| is_shim)?;
    Some(ralphd::process::shim_main(Path::new(&record)))
}
