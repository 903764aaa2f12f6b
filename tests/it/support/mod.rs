//! What the tests of the whole program stand on: a site of its own for each test, the real binary, and patience.
//! It must not look into the program: only at rows, files, exit codes and texts.

mod contract;
mod daemon;
mod disk;
pub mod http;
pub mod model_server;
pub mod postgres;
mod processes;
pub mod receiver;
mod rows;
mod site;
pub mod tools;
mod truth;
mod wait;

pub use daemon::Daemon;
pub use processes::{is_alive, kill};
pub use rows::Session;
pub use site::{Ran, Site};
pub use wait::wait_for;
