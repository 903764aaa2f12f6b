//! The searching tools against ripgrep itself, on the same tree. `cargo bench --bench search`; without `rg` on the path only our
//! own figures are shown. Both are to do the same work, so what is looked for is rare.

#[path = "../support/mod.rs"]
mod support;
mod tree;

use ralphd::agent::tool::{External, Room, Tool, toolbox};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 15;
/// Ours against ripgrep's.
const ALLOWED: f64 = 1.3;

fn main() {
    let root = support::place();
    let began = Instant::now();
    let bytes = tree::plant(root.path());
    println!(
        "{} files, {} MB, made in {:.1} s",
        tree::FILES,
        bytes >> 20,
        began.elapsed().as_secs_f64()
    );
    let tools = toolbox(room(root.path())).expect("the tools");
    let tool = |name: &str| {
        let found = tools.iter().find(|tool| tool.card().name == name);
        found.expect("a tool of this name").as_ref()
    };
    let needle = tree::NEEDLE;
    let regular = format!("{}[a-z]+s", &needle[..6]);
    for (what, name, arguments, words) in [
        (
            "grep, a rare word",
            "grep",
            json!({"pattern": needle}),
            vec!["--hidden", "-n", needle],
        ),
        (
            "grep, a rare expression",
            "grep",
            json!({"pattern": regular}),
            vec!["--hidden", "-n", regular.as_str()],
        ),
        (
            "grep, some of the files",
            "grep",
            json!({"pattern": needle, "glob": "*.md"}),
            vec!["--hidden", "-n", "-g", "*.md", needle],
        ),
        (
            "glob, a tenth of the files",
            "glob",
            json!({"pattern": "*.md"}),
            vec!["--hidden", "--files", "-g", "*.md"],
        ),
        (
            "glob, one file",
            "glob",
            json!({"pattern": "**/needle.txt"}),
            vec!["--hidden", "--files", "-g", "**/needle.txt"],
        ),
    ] {
        compare(what, tool(name), &arguments, root.path(), &words);
    }
    let page = json!({"path": tree::LARGE});
    let ours = median(|| call(tool("read"), &page));
    println!("{:<44} {ours:>22.2?}", "read, a page of 100 MB");
}

fn room(workspace: &Path) -> Room {
    Room {
        workspace: workspace.to_owned(),
        environment: Vec::new(),
        external: External::Deny,
        readable: Vec::new(),
        writable: Vec::new(),
        timeout: Duration::from_secs(600),
        temporary: workspace.with_extension("tmp"),
        bash_timeout: Duration::from_secs(600),
    }
}

fn compare(what: &str, tool: &dyn Tool, arguments: &Json, root: &Path, words: &[&str]) {
    let found = call(tool, arguments);
    assert!(!found.starts_with("No "), "{what}: {found}");
    let ours = median(|| call(tool, arguments));
    if !ripgrep(root, words) {
        return println!("{what:<44} {ours:>22.2?}   (no rg on the path)");
    }
    let theirs = median(|| ripgrep(root, words));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let shown = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let target = support::Target::AtMost(ALLOWED);
    support::figure(what, &shown(ours), &shown(theirs), ratio, target);
}

fn call(tool: &dyn Tool, arguments: &Json) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let said = runtime.block_on(tool.call(arguments.clone()));
    said.expect("a tool that finds something")
}

fn ripgrep(root: &Path, words: &[&str]) -> bool {
    let ran = Command::new("rg")
        .arg("--no-config")
        .args(words)
        .arg(".")
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    ran.is_ok_and(|status| status.success())
}

fn median<T>(mut work: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}
