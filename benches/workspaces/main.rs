//! What workspaces cost beside plain git, on a repository of 100,000 files and on small ones. `cargo bench --bench workspaces`.

mod record;
#[path = "../support/mod.rs"]
mod support;

fn main() {
    record::run();
}
