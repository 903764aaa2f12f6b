//! Each real tool, where it is installed (`tests/tools/install`), does a session of two iterations against a played model; the rows
//! must say what the model's server counted. A tool that is not installed is skipped, and that is said.

mod place;
mod setups;
mod two_iterations;

use setups::Tool;

fn try_out(tool: Tool) {
    if place::installed(tool.name) {
        place::on_own_loopback(|| two_iterations::play(&tool));
    }
}

#[test]
fn claude() {
    try_out(setups::claude());
}

#[test]
fn codex() {
    try_out(setups::codex());
}

#[test]
fn gemini() {
    try_out(setups::gemini());
}

#[test]
fn opencode() {
    try_out(setups::opencode());
}

#[test]
fn pi() {
    try_out(setups::pi());
}

#[test]
fn qwen() {
    try_out(setups::qwen());
}

#[test]
fn copilot() {
    try_out(setups::copilot());
}

#[test]
fn cline() {
    try_out(setups::cline());
}

#[test]
fn droid() {
    try_out(setups::droid());
}

#[test]
fn cn() {
    try_out(setups::cn());
}
