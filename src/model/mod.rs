//! Pure words and decisions: no IO, no async, no clock. Everything above may use it; it uses nothing of the crate.

pub mod document;
pub mod event;
pub mod failure;
pub mod fallback;
pub mod handoff;
pub mod id;
pub mod iteration;
pub mod limit;
pub mod mask;
pub mod nearest;
pub mod period;
pub mod preset;
pub mod price;
pub mod promise;
pub mod request;
pub mod room;
pub mod session;
pub mod stop;
pub mod task;
pub mod usage;
pub mod window;
pub mod words;
