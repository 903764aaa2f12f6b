//! What people find in the morning, the outbox; whom they had told meanwhile, `notify`; and how a session stands for whoever looks.
//! A report is owed from the moment a session ends until its file is written; a crash in between only delays it.

mod answer;
pub mod changes;
pub mod digest;
pub mod metrics;
pub mod mirror;
pub mod notify;
mod outbox;
pub mod standing;
pub mod stats;
#[cfg(feature = "otel")]
pub mod telemetry;
pub mod wording;

pub use outbox::{json_path, run, text_path, write_owed};
