//! The life of a session as its user sees it, with the real daemon and agents that are shell scripts.

mod control;
mod failing;
mod isolation;
mod limits;
mod memory;
mod order;
mod people;
mod promise;
mod summary;
mod verification;
mod ways_in;
