//! The ways in: files in an inbox, webhooks, the clock, rows from `sqlite3`, the command line. All of them end in `intake`.
//! A trigger must not acknowledge anything before it is durable, and never twice.

pub mod again;
pub mod answer;
pub mod cron;
pub mod fork;
mod ground;
pub mod inbox;
pub mod intake;
pub mod rows;
pub mod webhook;
