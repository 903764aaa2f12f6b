//! One real database for all cases of a property, a clock that only goes forward, and the rows as they lie in the file.

use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};
use ralphd::clock::new_id;
use ralphd::model::session::Trigger;
use ralphd::store::Store;
use ralphd::store::driver::Sql;
use ralphd::store::sessions::{self, NewSession};
use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::json;
use std::cell::Cell;
use std::collections::BTreeMap;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const CASES: u32 = 256;
const FIRST_MS: i64 = 1_700_000_000_000;
const TICK_MS: i64 = 1000;

/// What differs between two looks although nothing happened but the passing of time.
const TIMES: &[&str] = &["waited_ms", "waiting_since_ms"];

/// The rows of some sessions, by table and key.
pub type Rows = BTreeMap<(&'static str, String), BTreeMap<String, Value>>;

pub struct Bench {
    pub store: Store,
    pub directory: TempDir,
    runtime: Runtime,
    connection: Connection,
    now_ms: Cell<i64>,
}

/// Holds a property against at least as many cases as the contract wants.
pub fn for_all<S: Strategy>(cases: S, holds: impl Fn(&Bench, S::Value) -> TestCaseResult) {
    let bench = Bench::open();
    let mut runner = TestRunner::new(ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 4000,
        ..ProptestConfig::with_cases(CASES)
    });
    if let Err(failure) = runner.run(&cases, |case| holds(&bench, case)) {
        panic!("{failure}");
    }
}

impl Bench {
    pub fn open() -> Self {
        // In memory where that is possible: thousands of commits, and none of these properties is about the disk.
        let directory = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let store = Store::open(directory.path()).unwrap();
        let file = directory.path().join(ralphd::store::DATABASE_FILE);
        Self {
            store,
            runtime: tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap(),
            connection: Connection::open(file).unwrap(),
            now_ms: Cell::new(FIRST_MS),
            directory,
        }
    }

    /// A moment later than all before.
    pub fn tick(&self) -> i64 {
        self.pass(TICK_MS)
    }

    pub fn pass(&self, ms: i64) -> i64 {
        self.now_ms.set(self.now_ms.get() + ms);
        self.now_ms.get()
    }

    pub fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut dyn Sql) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        self.runtime.block_on(self.store.write(work))
    }

    pub fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut dyn Sql) -> anyhow::Result<T> + Send + 'static,
    ) -> T {
        self.read_by(&self.store, work)
    }

    pub fn read_by<T: Send + 'static>(
        &self,
        store: &Store,
        work: impl FnMut(&mut dyn Sql) -> anyhow::Result<T> + Send + 'static,
    ) -> T {
        self.runtime.block_on(store.read(work)).unwrap()
    }

    pub fn new_session(&self) -> NewSession {
        let id = new_id();
        NewSession {
            task_id: new_id(),
            objective: "Do it".to_owned(),
            agent: "own".to_owned(),
            trigger: Trigger::Cli,
            origin: "do-it".to_owned(),
            dedupe_key: None,
            request: json!({"objective": "Do it"}).to_string(),
            max_iterations: 3,
            completion_promise: "DONE".to_owned(),
            planned: false,
            parent: None,
            follows_session_id: None,
            workspace: format!("/nowhere/{id}"),
            fork: None,
            no_wait: false,
            protected: None,
            priority: 0,
            not_before_ms: None,
            created_at_ms: self.tick(),
            claimed_by: None,
            id,
        }
    }

    pub fn create(&self, new: &NewSession) -> String {
        let new = new.clone();
        let created = self.write(move |sql| sessions::create(sql, &new)).unwrap();
        created.id().to_owned()
    }

    /// A session and those of its sub-agents, the older first.
    pub fn tree(&self, root: &str) -> Vec<String> {
        self.column(
            "WITH RECURSIVE tree (id) AS (
                 SELECT ?1 UNION ALL SELECT s.id FROM sessions s JOIN tree ON s.parent_session_id = tree.id)
             SELECT id FROM tree ORDER BY id",
            root,
        )
    }

    /// The first column of what a query finds.
    pub fn column<T: rusqlite::types::FromSql>(&self, query: &str, whose: &str) -> Vec<T> {
        let mut statement = self.connection.prepare_cached(query).unwrap();
        let found = statement.query_map([whose], |row| row.get(0)).unwrap();
        found.collect::<Result<_, _>>().unwrap()
    }

    /// The one number that a query finds.
    pub fn number(&self, query: &str, whose: &str) -> i64 {
        self.column(query, whose)[0]
    }

    /// All rows of these sessions, but the history.
    pub fn rows(&self, sessions: &[String]) -> Rows {
        let mut found = Rows::new();
        let list = json!(sessions).to_string();
        for (table, key, of) in [
            ("sessions", "id", "id"),
            ("tasks", "id", "session_id"),
            ("human_requests", "id", "session_id"),
            ("iterations", "id", "session_id"),
            ("tool_calls", "id", "session_id"),
        ] {
            let query =
                format!("SELECT * FROM {table} WHERE {of} IN (SELECT value FROM json_each(?1))");
            self.collect(&mut found, (table, key), &query, &list);
        }
        let query =
            "SELECT task_id || depends_on_task_id AS key, * FROM task_deps WHERE task_id IN (
            SELECT id FROM tasks WHERE session_id IN (SELECT value FROM json_each(?1)))";
        self.collect(&mut found, ("task_deps", "key"), query, &list);
        let query =
            "SELECT * FROM workspaces WHERE holder_session_id IN (SELECT value FROM json_each(?1))";
        self.collect(&mut found, ("workspaces", "path"), query, &list);
        found
    }

    fn collect(
        &self,
        found: &mut Rows,
        (table, key): (&'static str, &str),
        query: &str,
        list: &str,
    ) {
        let mut statement = self.connection.prepare_cached(query).unwrap();
        let names: Vec<String> = statement
            .column_names()
            .iter()
            .map(|name| (*name).to_owned())
            .collect();
        let mut rows = statement.query([list]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values = names
                .iter()
                .enumerate()
                .map(|(at, name)| (name.clone(), row.get(at).unwrap()));
            found.insert((table, row.get(key).unwrap()), values.collect());
        }
    }
}

/// What is different between two looks, in words; nothing but the time that was spent may be.
pub fn differences(before: &Rows, after: &Rows) -> Vec<String> {
    let mut found = Vec::new();
    let keys: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for key in keys {
        match (before.get(key), after.get(key)) {
            (Some(one), Some(other)) => {
                let columns = one.iter().filter(|(name, value)| {
                    !TIMES.contains(&name.as_str()) && other.get(*name) != Some(value)
                });
                found.extend(columns.map(|(name, value)| {
                    format!(
                        "{} {} {name}: {value:?} became {:?}",
                        key.0,
                        key.1,
                        other.get(name)
                    )
                }));
            }
            (one, _) => found.push(format!(
                "{} {} {}",
                key.0,
                key.1,
                if one.is_some() { "went" } else { "came" }
            )),
        }
    }
    found
}
