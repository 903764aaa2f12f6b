//! What workspaces cost beside plain git, on a repository of 100,000 files and on small ones. `cargo bench --bench workspaces`.

mod prepare;
mod record;
mod repository;
#[path = "../support/mod.rs"]
mod support;

fn main() {
    // `cargo bench --bench workspaces -- record` leaves out what takes a quarter of an hour.
    if std::env::args().any(|argument| argument == "record") {
        return record::run();
    }
    let place = support::place();
    let repository = repository::Repository::plant(place.path());
    prepare::measure(&repository, "objects in a pack");
    repository.loosen();
    prepare::measure(&repository, "objects loose");
    record::run();
}
