//! The stream readers against samples of real runs, and against what no sample shows.

mod cases;
mod readers;
mod robust;
mod table;
