//! The integration tests, one binary: one file a capability.

mod builtin;
mod command_line;
mod crash;
mod crash_storm;
mod datasets;
mod doctor;
mod escapes;
mod fallback;
mod inbox;
mod keys;
mod limits_of_agents;
mod long_output;
mod prices;
mod process;
mod providers;
mod real_tools;
mod room;
mod session;
mod spending;
mod store;
mod streams;
mod support;
mod systemd;
mod tidy;
mod tools;
