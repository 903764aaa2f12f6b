//! The rows that a test's daemon left, held to what must be true together at any moment, also after a kill: what has ended has nothing that
//! goes on for it, and holds nothing.

use super::Site;
use rusqlite::OpenFlags;

/// Each finds what cannot be, in words.
const LIES: &[&str] = &[
    "SELECT 'iteration ' || i.number || ' is under way for task ' || t.task_order || ', which is ' || t.status
     FROM iterations i JOIN tasks t ON t.id = i.task_id
     WHERE i.ended_at_ms IS NULL AND t.status IN ('completed', 'failed', 'skipped', 'cancelled', 'human_required')",
    "SELECT 'session ' || s.id || ' is ' || s.status || ', its task ' || t.task_order || ' is ' || t.status
     FROM sessions s JOIN tasks t ON t.session_id = s.id
     WHERE s.ended_at_ms IS NOT NULL AND t.status IN ('pending', 'waiting_dependency', 'running', 'retrying', 'human_required')",
    "SELECT 'session ' || s.id || ' is ' || s.status || ' and holds ' || w.path
     FROM sessions s JOIN workspaces w ON w.holder_session_id = s.id
     WHERE s.ended_at_ms IS NOT NULL AND w.main_path IS NULL",
];

/// What cannot be true in the rows of a site.
pub fn lies(site: &Site) -> Vec<String> {
    let path = site.state().join("ralphd.db");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let Ok(database) = rusqlite::Connection::open_with_flags(path, flags) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for sql in LIES {
        // A test may have made its state unreadable, or an older one.
        let Ok(mut statement) = database.prepare(sql) else {
            continue;
        };
        let rows = statement.query_map([], |row| row.get::<_, String>(0));
        found.extend(rows.into_iter().flatten().flatten());
    }
    found
}
