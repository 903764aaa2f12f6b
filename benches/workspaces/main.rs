//! Workspaces on a repository of 100,000 files, against bare git on the same repository. `cargo bench --bench workspaces`.

mod prepare;
mod repository;
#[path = "../support/mod.rs"]
mod support;

fn main() {
    let place = support::place();
    let repository = repository::Repository::plant(place.path());
    prepare::measure(&repository, "objects in a pack");
    repository.loosen();
    prepare::measure(&repository, "objects loose");
}
