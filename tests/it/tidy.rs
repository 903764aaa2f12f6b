//! The house's own rules: rooms use lower ranks only, state words are the same everywhere, files say what they are.

use ralphd::model::budget::BudgetKind;
use ralphd::model::failure::FailureClass;
use ralphd::model::iteration::Verdict;
use ralphd::model::notice::{NoticeStatus, Occasion};
use ralphd::model::schedule::TickOutcome;
use ralphd::model::session::{Control, EndReason, SessionState, Trigger, Verified};
use ralphd::model::task::{TaskKind, TaskState};
use ralphd::store::humans::{HumanKind, HumanStatus};
use ralphd::store::workers::Role;
use ralphd::store::{DATABASE_FILE, Store};
use std::path::{Path, PathBuf};

const RANKS: &[(&str, u8)] = &[
    ("model", 0),
    ("clock", 1),
    ("files", 1),
    ("lock", 1),
    ("config", 1),
    ("process", 1),
    ("secrets", 1),
    ("store", 2),
    ("workspace", 3),
    ("dataset", 3),
    ("transform", 3),
    ("agent", 4),
    ("engine", 5),
    ("queue", 6),
    ("trigger", 6),
    ("report", 6),
    ("api", 7),
    ("daemon", 10),
    ("cli", 11),
];
/// Past this a file wants splitting by meaning.
const MAX_LINES: usize = 520;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(below).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn rank(room: &str) -> Option<u8> {
    RANKS
        .iter()
        .find(|(name, _)| *name == room)
        .map(|(_, rank)| *rank)
}

/// The room a file belongs to: the first part of its path below `src`.
fn room_of(path: &Path) -> String {
    let below = path.strip_prefix(root().join("src")).unwrap();
    let first = below.components().next().unwrap();
    let name = first.as_os_str().to_str().unwrap();
    name.trim_end_matches(".rs").to_owned()
}

#[test]
fn rooms_use_lower_ranks_only() {
    let mut offences = Vec::new();
    for path in sources(&root().join("src")) {
        let room = room_of(&path);
        if matches!(room.as_str(), "lib" | "main") {
            continue;
        }
        let own = rank(&room).unwrap_or_else(|| panic!("{room} has no rank; give it one"));
        let text = std::fs::read_to_string(&path).unwrap();
        let code: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        for used in code.split("crate::").skip(1) {
            let used: String = used
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let Some(other) = rank(&used) else { continue };
            if used != room && other > own {
                offences.push(format!("{} uses {used}", path.display()));
            }
        }
    }
    assert!(offences.is_empty(), "{offences:#?}");
}

#[test]
fn every_file_says_what_it_is_and_none_is_a_monster() {
    let mut offences = Vec::new();
    for path in sources(&root().join("src")) {
        let text = std::fs::read_to_string(&path).unwrap();
        if !text.starts_with("//!") {
            offences.push(format!("{} does not open with //!", path.display()));
        }
        if text.lines().count() > MAX_LINES {
            offences.push(format!("{} has over {MAX_LINES} lines", path.display()));
        }
    }
    assert!(offences.is_empty(), "{offences:#?}");
}

/// The schema as all migrations leave it: the statement that would make `table`.
fn schema_of(table: &str) -> String {
    let state = tempfile::tempdir().unwrap();
    drop(Store::open(state.path()).unwrap());
    let database = rusqlite::Connection::open(state.path().join(DATABASE_FILE)).unwrap();
    let query = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    database
        .query_row(query, [table], |row| row.get(0))
        .unwrap()
}

/// The words that a column's `CHECK` allows. They are compared one by one: for a list, SQLite would build a table on each write.
fn checked(table: &str, column: &str) -> Vec<String> {
    let schema = schema_of(table);
    let check = schema
        .split(&format!("CHECK ({column} "))
        .nth(1)
        .unwrap_or_else(|| panic!("{table}.{column} is not checked"));
    let list = &check[..check.find(')').unwrap()];
    let words: Vec<String> = list
        .split('\'')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    assert!(
        words.len() < 3 || !list.starts_with("IN"),
        "{table}.{column} is checked by a list"
    );
    words
}

#[test]
fn state_words_are_the_same_in_code_and_schema() {
    macro_rules! equal {
        ($table:literal, $column:literal, $set:ty) => {
            let words: Vec<&str> = <$set>::ALL.iter().map(|word| word.as_str()).collect();
            assert_eq!(checked($table, $column), words, "{}.{}", $table, $column);
        };
    }
    equal!("sessions", "status", SessionState);
    equal!("sessions", "end_reason", EndReason);
    equal!("sessions", "\"trigger\"", Trigger);
    equal!("sessions", "verified", Verified);
    equal!("sessions", "control", Control);
    equal!("tasks", "status", TaskState);
    equal!("tasks", "task_type", TaskKind);
    equal!("iterations", "verdict", Verdict);
    equal!("iterations", "failure_class", FailureClass);
    equal!("human_requests", "kind", HumanKind);
    equal!("human_requests", "status", HumanStatus);
    equal!("workers", "role", Role);
    equal!("notices", "occasion", Occasion);
    equal!("notices", "status", NoticeStatus);
    equal!("budget_marks", "budget", BudgetKind);
    equal!("ticks", "outcome", TickOutcome);
}

#[test]
fn every_query_file_is_used() {
    let used: String = sources(&root().join("src/store"))
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    for entry in std::fs::read_dir(root().join("sql/queries"))
        .unwrap()
        .flatten()
    {
        let name = entry.path();
        let name = name.file_stem().unwrap().to_str().unwrap();
        assert!(
            used.contains(&format!("query!(\"{name}\")")),
            "sql/queries/{name}.sql is not used"
        );
    }
}
