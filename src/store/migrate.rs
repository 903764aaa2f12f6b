//! Schema versions of the SQLite file: refuse a newer one, back up an older one, then bring it up to date in one transaction.
//! A landed migration is never edited; a new one is added to the list.

use crate::clock::now_ms;
use anyhow::{Context, Result, bail};
use rusqlite::{Connection, TransactionBehavior, backup::Backup};
use std::path::Path;
use std::time::Duration;

/// Each file brings the schema from its position to the next version.
const MIGRATIONS: &[&str] = &[
    include_str!("../../sql/sqlite/0001_initial.sql"),
    include_str!("../../sql/sqlite/0002_plain_checks.sql"),
    include_str!("../../sql/sqlite/0003_agents_of_iterations.sql"),
    include_str!("../../sql/sqlite/0004_steps.sql"),
    include_str!("../../sql/sqlite/0005_plans.sql"),
    include_str!("../../sql/sqlite/0006_ways_in_and_out.sql"),
    include_str!("../../sql/sqlite/0007_workspaces.sql"),
    include_str!("../../sql/sqlite/0008_digests.sql"),
];

/// Pages copied between two looks at the clock; the whole file in a few steps.
const BACKUP_PAGES_PER_STEP: i32 = 4096;

fn newest() -> i64 {
    MIGRATIONS.len() as i64
}

fn version(connection: &Connection) -> Result<i64> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// A database written by a newer ralphd is left alone.
pub fn refuse_newer(connection: &Connection, path: &Path) -> Result<()> {
    let found = version(connection)?;
    if found > newest() {
        bail!(
            "{} has schema version {found}, but this ralphd knows only up to {}: use the newer ralphd that wrote it",
            path.display(),
            newest()
        );
    }
    Ok(())
}

/// A look does not change what it looks at: an older schema is left to the daemon.
pub fn require_current(connection: &Connection, path: &Path) -> Result<()> {
    let found = version(connection)?;
    if found < newest() {
        bail!(
            "{} has schema version {found}, older than this ralphd's {}: start 'ralphd serve' once to bring it up to date",
            path.display(),
            newest()
        );
    }
    Ok(())
}

/// Brings the schema up to date. Safe when two processes try at once: the second finds it done.
pub fn migrate(connection: &mut Connection, path: &Path) -> Result<()> {
    refuse_newer(connection, path)?;
    let before = version(connection)?;
    if before == newest() {
        return Ok(());
    }
    if before > 0 {
        // Each attempt has a copy of its own: one that was cut short must not stand in the way of the next.
        let copy = path.with_extension(format!("db.before-v{}.{}", newest(), now_ms()));
        copy_to(connection, &copy)?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for number in version(&transaction)?..newest() {
        let script = MIGRATIONS[number as usize];
        transaction
            .execute_batch(script)
            .with_context(|| format!("migration {} of {} failed", number + 1, path.display()))?;
        transaction.pragma_update(None, "user_version", number + 1)?;
    }
    transaction.commit()?;
    Ok(())
}

/// A consistent copy by SQLite's own backup, while others go on writing.
pub fn copy_to(connection: &Connection, target: &Path) -> Result<()> {
    if target.exists() {
        bail!("{} exists already: name another file", target.display());
    }
    let copy = || -> rusqlite::Result<()> {
        let mut destination = Connection::open(target)?;
        let backup = Backup::new(connection, &mut destination)?;
        backup.run_to_completion(BACKUP_PAGES_PER_STEP, Duration::ZERO, None)
    };
    copy()
        .inspect_err(|_| {
            let _ = std::fs::remove_file(target);
        })
        .with_context(|| format!("cannot back up to {}", target.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_schema_is_refused_in_one_sentence() {
        let connection = Connection::open_in_memory().unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
        let refusal = refuse_newer(&connection, Path::new("x.db")).unwrap_err();
        assert!(
            refusal
                .to_string()
                .starts_with("x.db has schema version 99")
        );
    }

    #[test]
    fn migrating_twice_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new("x.db")).unwrap();
        migrate(&mut connection, Path::new("x.db")).unwrap();
        assert_eq!(version(&connection).unwrap(), newest());
    }

    #[test]
    fn an_older_database_keeps_its_rows_and_its_checks_and_leaves_a_copy() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        let mut connection = Connection::open(&path).unwrap();
        connection.execute_batch(MIGRATIONS[0]).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        let add = |connection: &Connection, id: &str, status: &str| {
            connection.execute(
                "INSERT INTO sessions (id, status, objective, agent, \"trigger\", origin, request, max_iterations, completion_promise, workspace, created_at_ms)
                 VALUES (?1, ?2, 'o', 'a', 'cli', 'o', '{}', 1, 'P', 'w', 0)",
                [id, status],
            )
        };
        add(&connection, "old", "executing").unwrap();
        migrate(&mut connection, &path).unwrap();
        let count = |connection: &Connection| -> i64 {
            let query = "SELECT count(*) FROM sessions WHERE status = 'executing'";
            connection.query_row(query, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(count(&connection), 1);
        add(&connection, "new", "executing").unwrap();
        assert!(add(&connection, "bad", "dreaming").is_err());
        let sound: String = connection
            .pragma_query_value(None, "integrity_check", |row| row.get(0))
            .unwrap();
        assert_eq!(sound, "ok");
        let copies = std::fs::read_dir(directory.path())
            .unwrap()
            .filter(|entry| {
                let name = entry.as_ref().unwrap().file_name();
                name.to_string_lossy().contains("before-v")
            });
        assert_eq!(copies.count(), 1);
    }
}
