//! The integration tests, one binary: one file a capability.

mod process;
mod systemd;
