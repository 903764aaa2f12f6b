//! What becomes of a planned request's parts: datasets, retry and continue.

use super::{PLAN, json, site};
use crate::support::Daemon;
use serde_json::Value as Json;
use std::fs;

#[test]
fn datasets_are_seen_from_where_they_are_named() {
    let site = site(PLAN);
    fs::create_dir(site.file("below")).unwrap();
    fs::copy(site.file("ask.md"), site.file("below/ask.md")).unwrap();
    let datasets = |arguments: &[&str]| -> Json {
        let id = site.ralphd(arguments).done();
        let text: String = site
            .cell("SELECT request FROM sessions WHERE id = ?1", [id.trim()])
            .unwrap();
        serde_json::from_str::<Json>(&text).unwrap()["datasets"].clone()
    };
    let here = site.root().canonicalize().unwrap();
    let whole = |name: &str| here.join(name).display().to_string();
    let planned = [
        "submit",
        "--objective",
        "Go.",
        "--plan",
        "auto",
        "--datasets",
    ];
    assert_eq!(
        datasets(&[&planned[..], &["customers.csv"]].concat()),
        serde_json::json!([whole("customers.csv")])
    );
    assert_eq!(
        datasets(&[&planned[..], &["absent.csv"]].concat()),
        serde_json::json!(["absent.csv"])
    );
    assert_eq!(
        datasets(&["submit", "ask.md"]),
        serde_json::json!([whole("customers.csv")])
    );
    assert_eq!(
        datasets(&["submit", "below/ask.md"]),
        serde_json::json!(["customers.csv"]),
        "not beside the file"
    );
    fs::copy(site.file("customers.csv"), site.file("below/customers.csv")).unwrap();
    assert_eq!(
        datasets(&["submit", "below/ask.md"]),
        serde_json::json!([whole("below/customers.csv")])
    );
}

#[test]
fn a_planned_session_is_retried_and_continued_with_its_plan() {
    let daemon = Daemon::start(site(PLAN));
    let arguments = [
        "workflow",
        "run",
        "regional",
        "--input",
        "region=west",
        "--datasets",
        "customers.csv",
    ];
    daemon.ralphd(&arguments).done();
    let first = daemon.ended("regional");
    for (verb, same) in [("retry", false), ("continue", true)] {
        let id = daemon.ralphd(&[verb, &first.id]).done();
        let again = daemon.ended(id.trim());
        assert_eq!(again.ending(), ("completed", "completed"), "{verb}");
        assert_eq!(again.follows.as_ref(), Some(&first.id));
        assert_eq!(again.workspace == first.workspace, same, "{verb}");
        let shown = json(daemon.ralphd(&["show", id.trim(), "--json"]));
        assert_eq!(
            shown["tasks"][1]["result"],
            serde_json::json!(["bob"]),
            "{verb}"
        );
    }
}
