//! `ralphd workflow`: list, check, run.

use super::{PLAN, WORKFLOW, json, site};
use serde_json::Value as Json;
use std::fs;

#[test]
fn workflows_are_listed() {
    let site = site(PLAN);
    let list = site.ralphd(&["workflow", "list"]).done();
    assert_eq!(
        list,
        "NAME      TASKS  INPUTS            DESCRIPTION\nregional  2      limit=10, region  Customers of a region\n"
    );
    fs::write(site.file("workflows/bad.toml"), "tasks = 3\n").unwrap();
    let listed = json(site.ralphd(&["workflow", "list", "--json"]));
    assert_eq!(listed[0]["name"], "bad");
    assert!(
        listed[0]["error"].as_str().unwrap().contains("tasks"),
        "{listed}"
    );
    assert_eq!(listed[1]["inputs"]["region"]["description"], "Which region");
    assert_eq!(listed[1]["tasks"], 2);
    fs::remove_dir_all(site.file("workflows")).unwrap();
    let none = site.ralphd(&["workflow", "list"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    let place = site.file("workflows").display().to_string();
    assert!(none.stderr.contains(&place), "{none:?}");
}

#[test]
fn workflows_are_checked_line_by_line() {
    let site = site(PLAN);
    let right = site.ralphd(&["workflow", "check"]).done();
    assert!(right.contains("regional.toml: right"), "{right}");
    let wrong = WORKFLOW.replace("map(.name)", "mapp(.name)");
    fs::write(site.file("workflows/filter.toml"), &wrong).unwrap();
    let wrong = WORKFLOW
        .replace("type = \"transform\"", "type = \"transfrom\"")
        .replace("{{ input.limit }}", "'{{ input.limit }}'");
    fs::write(site.file("elsewhere.toml"), &wrong).unwrap();
    for (which, code, expected) in [
        (
            &[][..],
            2,
            &[
                "filter.toml:20: task 2, filter:",
                "no function mapp",
                "regional.toml: right",
            ][..],
        ),
        (&["regional"], 0, &["right"]),
        (
            &["elsewhere.toml"],
            2,
            &[
                "elsewhere.toml:13: task 1, sql:",
                "elsewhere.toml:17: task 2, type:",
            ],
        ),
        (&["./nowhere.toml"], 2, &["nowhere.toml: "]),
    ] {
        let ran = site.ralphd(&[&["workflow", "check"], which].concat());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        for text in expected {
            assert!(ran.stdout.contains(text), "no {text}: {ran:?}");
        }
    }
    let unknown = site.ralphd(&["workflow", "check", "regionall"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(
        unknown.stderr.contains("did you mean regional?"),
        "{unknown:?}"
    );
    let found = site.ralphd(&["workflow", "check", "filter", "--json"]);
    let found: Json = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(found[0]["problems"][0]["line"], 20);
}

#[test]
fn a_workflow_is_run_by_its_name() {
    let site = site(PLAN);
    let arguments = [
        "workflow",
        "run",
        "regional",
        "--input",
        "region=west",
        "--datasets",
        "customers.csv",
    ];
    let ran = site.ralphd(&arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "There are two customers.\n");
    for line in [
        "task 1, sql_query: Customers in west\n",
        "task 2: completed: [\"bob\"]\n",
    ] {
        assert!(ran.stderr.contains(line), "no {line}: {}", ran.stderr);
    }
    let session = site.ended("regional");
    let objective: Vec<String> = site.column(
        "SELECT objective FROM sessions WHERE id = ?1",
        [&session.id],
    );
    assert_eq!(objective, ["Customers of a region"]);
    for (arguments, said) in [
        (
            &["workflow", "run", "regionl"][..],
            "did you mean regional?",
        ),
        (&["workflow", "run", "regional"], "input.region: missing"),
        (
            &["workflow", "run", "regional", "--plan", "auto"],
            "leave out one",
        ),
    ] {
        let ran = site.ralphd(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
}
