//! The rows as a person with `sqlite3 -readonly` sees them.

use super::{Site, wait_for};
use rusqlite::types::FromSql;
use rusqlite::{Connection, OpenFlags, Params};
use serde_json::Value as Json;
use std::path::PathBuf;
use std::time::Duration;

const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// What a test looks at in a session.
#[derive(Clone, Debug)]
pub struct Session {
    pub id: String,
    pub status: String,
    pub end_reason: Option<String>,
    pub end_detail: Option<String>,
    pub iteration_count: i64,
    pub verified: Option<String>,
    pub final_answer: Option<String>,
    pub human_context: Option<String>,
    pub workspace: PathBuf,
    pub follows: Option<String>,
}

/// What a test looks at in an iteration.
#[derive(Clone, Debug)]
pub struct Iteration {
    pub number: i64,
    pub verdict: Option<String>,
    pub counted: bool,
    pub exit_code: Option<i64>,
    pub final_text: Option<String>,
    pub handoff: Option<String>,
    pub prompt_file: PathBuf,
    pub output_file: PathBuf,
}

impl Iteration {
    /// What the agent was told.
    pub fn prompt(&self) -> String {
        std::fs::read_to_string(&self.prompt_file).unwrap()
    }

    /// Verdict and whether it counts, for comparing.
    pub fn judged(&self) -> (&str, bool) {
        (self.verdict.as_deref().unwrap_or("under way"), self.counted)
    }
}

impl Session {
    /// Status and reason, for comparing.
    pub fn ending(&self) -> (&str, &str) {
        (&self.status, self.end_reason.as_deref().unwrap_or("-"))
    }

    pub fn short_id(&self) -> &str {
        &self.id[self.id.len() - 8..]
    }

    pub fn answer(&self) -> &str {
        self.final_answer.as_deref().unwrap_or_default()
    }
}

impl Site {
    fn database(&self) -> Option<Connection> {
        let path = self.state().join("ralphd.db");
        let connection =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
        connection.busy_timeout(BUSY_TIMEOUT).unwrap();
        Some(connection)
    }

    /// The first column of all rows; none while there is no database yet.
    pub fn column<T: FromSql>(&self, sql: &str, parameters: impl Params) -> Vec<T> {
        let Some(connection) = self.database() else {
            return Vec::new();
        };
        let Ok(mut statement) = connection.prepare(sql) else {
            return Vec::new();
        };
        let rows = statement.query_map(parameters, |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// The first column of the first row.
    pub fn cell<T: FromSql>(&self, sql: &str, parameters: impl Params) -> Option<T> {
        self.column(sql, parameters).into_iter().next()
    }

    pub fn count(&self, sql: &str) -> i64 {
        self.cell(sql, []).unwrap_or(0)
    }

    /// The session that came from a file of this stem, or has this id.
    pub fn session(&self, name: &str) -> Option<Session> {
        let connection = self.database()?;
        let mut statement = connection
            .prepare("SELECT * FROM sessions WHERE origin = ?1 OR id = ?1 ORDER BY id DESC LIMIT 1")
            .ok()?;
        let mut rows = statement.query([name]).unwrap();
        let row = rows.next().unwrap()?;
        Some(Session {
            id: row.get("id").unwrap(),
            status: row.get("status").unwrap(),
            end_reason: row.get("end_reason").unwrap(),
            end_detail: row.get("end_detail").unwrap(),
            iteration_count: row.get("iteration_count").unwrap(),
            verified: row.get("verified").unwrap(),
            final_answer: row.get("final_answer").unwrap(),
            human_context: row.get("human_context").unwrap(),
            workspace: PathBuf::from(row.get::<_, String>("workspace").unwrap()),
            follows: row.get("follows_session_id").unwrap(),
        })
    }

    /// The iterations of a session, first to last.
    pub fn iterations(&self, session: &Session) -> Vec<Iteration> {
        let connection = self.database().unwrap();
        let mut statement = connection
            .prepare("SELECT * FROM iterations WHERE session_id = ?1 ORDER BY number")
            .unwrap();
        let rows = statement.query_map([&session.id], |row| {
            Ok(Iteration {
                number: row.get("number")?,
                verdict: row.get("verdict")?,
                counted: row.get("counted")?,
                exit_code: row.get("exit_code")?,
                final_text: row.get("final_text")?,
                handoff: row.get("handoff")?,
                prompt_file: PathBuf::from(row.get::<_, String>("prompt_file")?),
                output_file: PathBuf::from(row.get::<_, String>("output_file")?),
            })
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// The verdicts of a session, with whether each counts.
    pub fn verdicts(&self, session: &Session) -> Vec<(String, bool)> {
        let judged = self.iterations(session);
        let pair = |iteration: &Iteration| {
            let (verdict, counted) = iteration.judged();
            (verdict.to_owned(), counted)
        };
        judged.iter().map(pair).collect()
    }

    /// Waits until a session is in a state.
    pub fn in_state(&self, name: &str, status: &str) -> Session {
        wait_for(&format!("session {name} to be {status}"), || {
            self.session(name)
                .filter(|session| session.status == status)
        })
    }

    /// Waits until a session has ended and its answer lies in the outbox.
    pub fn ended(&self, name: &str) -> Session {
        let owed = "SELECT count(*) FROM sessions WHERE (origin = ?1 OR id = ?1) AND reported_at_ms IS NULL";
        wait_for(&format!("the end of session {name}"), || {
            self.session(name)?;
            let owed: i64 = self.cell(owed, [name])?;
            (owed == 0).then(|| self.session(name)).flatten()
        })
    }

    /// The answer in the outbox, for people and for machines.
    pub fn outbox(&self, stem: &str, session: &Session) -> (String, Json) {
        let name = format!("state/outbox/{stem}.{}", session.short_id());
        let json = self.read(&format!("{name}.json"));
        (
            self.read(&format!("{name}.md")),
            serde_json::from_str(&json).unwrap(),
        )
    }

    /// How many events of a type a session has.
    pub fn events(&self, session: &Session, kind: &str) -> i64 {
        let sql = "SELECT count(*) FROM events WHERE session_id = ?1 AND type = ?2";
        self.cell(sql, [session.id.as_str(), kind]).unwrap_or(0)
    }
}
