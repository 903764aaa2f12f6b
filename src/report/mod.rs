//! What people find in the morning: the outbox. And whom they had told meanwhile: `notify`.
//! A report is owed from the moment a session ends until its file is written; a crash in between only delays it.

mod answer;
pub mod notify;
mod outbox;

pub use outbox::{json_path, run, text_path, write_owed};
