//! A session and the sessions of its sub-agents, as their rows tell; and workflows to make them by.

use crate::support::{Session, Site, wait_for};

/// The session that came from a file of this stem; those of its sub-agents have the same origin.
pub fn head(site: &Site, name: &str) -> Session {
    wait_for(&format!("session {name}"), || {
        let sql = "SELECT id FROM sessions WHERE origin = ?1 AND parent_session_id IS NULL";
        let id: String = site.cell(sql, [name])?;
        site.session(&id)
    })
}

/// The same once it has ended and its answer lies in the outbox.
pub fn ended(site: &Site, name: &str) -> Session {
    let id = head(site, name).id;
    site.ended(&id)
}

/// The sessions of a session's sub-agents, first to last.
pub fn children(site: &Site, parent: &Session) -> Vec<Session> {
    let sql = "SELECT id FROM sessions WHERE parent_session_id = ?1 ORDER BY id";
    let ids: Vec<String> = site.column(sql, [&parent.id]);
    ids.iter().map(|id| site.session(id).unwrap()).collect()
}

/// A single cell of a session's row, as text.
pub fn field(site: &Site, session: &Session, column: &str) -> String {
    let sql = format!("SELECT CAST({column} AS TEXT) FROM sessions WHERE id = ?1");
    site.cell(&sql, [&session.id]).unwrap()
}

/// A cell of one task of a session.
pub fn of_task(site: &Site, session: &Session, order: i64, column: &str) -> Option<String> {
    let sql = format!(
        "SELECT CAST({column} AS TEXT) FROM tasks WHERE session_id = ?1 AND task_order = ?2"
    );
    site.cell::<Option<String>>(&sql, (&session.id, order))
        .flatten()
}

/// Writes a workflow: for each task what follows upon its order.
pub fn workflow(site: Site, name: &str, tasks: &[&str]) -> Site {
    let directory = site.file("workflows");
    std::fs::create_dir_all(&directory).unwrap();
    let tasks = tasks.iter().enumerate();
    let text: String = tasks
        .map(|(index, task)| format!("[[tasks]]\norder = {}\n{task}\n", index + 1))
        .collect();
    std::fs::write(directory.join(format!("{name}.toml")), text).unwrap();
    site
}

/// The files in the outbox.
pub fn answers(site: &Site) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(site.state().join("outbox")) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".md")).collect()
}
