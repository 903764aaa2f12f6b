//! The ways in: files in an inbox, rows from `sqlite3`, the clock, the command line. All of them end in `intake`.
//! A trigger must not acknowledge anything before it is durable, and never twice.

pub mod answer;
pub mod cron;
pub mod inbox;
pub mod intake;
pub mod rows;
