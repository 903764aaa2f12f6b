//! Where real tools are, and the network they get: none but a loopback of their own, where the system allows that.

use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// Where the tools are: never those that a person has installed for work.
pub fn directory() -> PathBuf {
    let installed = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/target/tools/node_modules/.bin"
    );
    std::env::var_os("RALPHD_TEST_TOOLS").map_or_else(|| installed.into(), PathBuf::from)
}

/// Whether a tool is there. Says so if not, past the harness, which would show it for failed tests only.
pub fn installed(tool: &str) -> bool {
    let program = directory().join(tool);
    let is_there = program.exists();
    if !is_there {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: real tool {tool}: there is no {}; run tests/tools/install {tool}",
            program.display()
        );
    }
    is_there
}

/// The tools before all else, with the node that was installed for them.
pub fn search_path() -> String {
    let system = std::env::var_os("PATH").unwrap_or_default();
    let mut path = OsString::from(directory());
    path.push(":");
    path.push(system);
    path.into_string().unwrap()
}

/// Runs a test where nothing outside can be reached, neither by it nor by what it starts. Without the right to that, the dead
/// proxy that tools are told of has to do.
pub fn on_own_loopback(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let tested = scope.spawn(|| {
            // SAFETY: only the network is left, and no other thread looks at the one of this thread.
            if ip(&["-V"]) && unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.is_ok() {
                let is_up = ip(&["link", "set", "lo", "up"]);
                assert!(is_up, "the loopback does not come up");
            }
            test();
        });
        if let Err(panic) = tested.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

fn ip(arguments: &[&str]) -> bool {
    let ran = Command::new("ip").args(arguments).output();
    ran.is_ok_and(|output| output.status.success())
}
