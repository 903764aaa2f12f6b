//! Requests that start by the clock.

mod commands;
mod croniter;
mod daemon;
mod overlap;
mod processes;
mod ticking;
mod years;

use jiff::Timestamp;
use ralphd::agent::roster::Roster;
use ralphd::config::{Config, Environment};
use ralphd::engine::workflows::Workflows;
use ralphd::process::Supervisor;
use ralphd::secrets::Vault;
use ralphd::store::driver::Sql;
use ralphd::store::{DATABASE_FILE, Store, sessions};
use ralphd::trigger::cron::{self, Schedule};
use ralphd::trigger::intake::Reception;
use std::path::{Path, PathBuf};

/// All that ticks need, on a real database; the time is told to it.
struct Clockwork {
    state: PathBuf,
    store: Store,
    config: Config,
    roster: Roster,
    workflows: Workflows,
    schedules: Vec<Schedule>,
}

/// A tick as a person sees it: when, and what came of it.
type Row = (i64, String, Option<String>, Option<String>);

impl Clockwork {
    fn open(state: &Path, config: &str) -> Self {
        let text = format!("[agents.worker]\ncommand = ['true']\n{config}");
        let config = Config::from_text(&text, None, &Environment::default()).unwrap();
        let program = PathBuf::from(env!("CARGO_BIN_EXE_ralphd"));
        let roster =
            Roster::new(&config, Supervisor::default(), program, Vault::default()).unwrap();
        Self {
            store: Store::open(state).unwrap(),
            schedules: cron::all(&config).unwrap(),
            workflows: Workflows {
                directory: state.join("workflows"),
            },
            state: state.to_owned(),
            config,
            roster,
        }
    }

    /// What a daemon does when it wakes at this time; returns when it would wake next.
    async fn look(&self, now_ms: i64) -> Option<i64> {
        let reception = Reception {
            config: &self.config,
            roster: &self.roster,
            state: &self.state,
            store: &self.store,
            workflows: &self.workflows,
        };
        cron::keep_enabled(&self.store, &self.schedules)
            .await
            .unwrap();
        cron::look(reception, &self.schedules, now_ms)
            .await
            .unwrap()
    }

    async fn write(&self, work: impl FnMut(&mut dyn Sql) -> anyhow::Result<()> + Send + 'static) {
        self.store.write(work).await.unwrap();
    }

    /// Ends everything that is open, as if its work were done.
    async fn end_all(&self, at_ms: i64) {
        self.write(move |sql| {
            for session in sessions::open(sql, 1_000)?.iter().rev() {
                sessions::cancel(sql, &session.id, at_ms)?;
            }
            Ok(())
        })
        .await;
    }

    fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.state.join(DATABASE_FILE)).unwrap()
    }

    /// The ticks of a schedule, in their order.
    fn ticks(&self, name: &str) -> Vec<Row> {
        let database = self.database();
        let sql = "SELECT due_at_ms, outcome, detail, session_id FROM ticks WHERE schedule = ?1 ORDER BY due_at_ms";
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map([name], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// The outcomes alone.
    fn outcomes(&self, name: &str) -> Vec<String> {
        self.ticks(name).into_iter().map(|tick| tick.1).collect()
    }

    fn count(&self, sql: &str) -> i64 {
        self.database()
            .query_row(sql, [], |row| row.get(0))
            .unwrap()
    }
}

fn at(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_millisecond()
}

/// A schedule as it is configured.
fn schedule(name: &str, cron: &str, more: &str) -> String {
    format!(
        "[[schedules]]\nname = '{name}'\ncron = '{cron}'\ntimezone = 'America/New_York'\nrequest = {{ objective = 'Go.' }}\n{more}\n"
    )
}

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
