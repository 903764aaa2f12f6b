//! The streams of tools: how fast the readers are, and what a long one costs the daemon.
//! `cargo bench --bench stream -- codex` measures the readers of one format only.

mod long;
mod readers;
#[path = "../support/mod.rs"]
mod support;
mod whole;

fn main() {
    // Cargo itself adds an option.
    let only = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    readers::measure(only.as_deref());
    if only.is_none() {
        whole::measure();
    }
}
