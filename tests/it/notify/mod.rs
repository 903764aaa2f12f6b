//! Whoever wants to be told of sessions is: by callback, webhook, ntfy, Slack or a program; once, and in the end always.

mod callbacks;
mod flood;
mod occasions;
mod refusals;
mod targets;

use crate::support::{Site, wait_for};
use serde_json::Value as Json;

/// Callbacks to this machine, tried again at once.
const HERE: &str = "[callbacks]\nallow_private = true\nbackoff = \"5ms\"\n";

/// A site whose worker is done at once.
fn done_at_once() -> Site {
    Site::with_worker("echo 'It is done.'; echo TASK_COMPLETE")
}

/// A request with a callback.
fn calling_back(url: &str) -> String {
    format!("---\ncallback_url: {url}\nlabels: {{ team: infra }}\n---\nPaint the door.")
}

/// Waits until nobody is owed anything; so many were told.
fn all_told(site: &Site, how_many: i64) {
    wait_for("all to be told", || {
        let delivered = "SELECT count(*) FROM notices WHERE status = 'delivered'";
        let owed = "SELECT count(*) FROM notices WHERE status = 'owed'";
        (site.count(delivered) == how_many && site.count(owed) == 0).then_some(())
    });
}

/// The notices of a session as `show --json` has them.
fn shown(site: &Site, session: &str) -> Vec<Json> {
    let text = site.ralphd(&["show", session, "--json"]).done();
    let whole: Json = serde_json::from_str(&text).unwrap();
    whole["notices"].as_array().unwrap().clone()
}
