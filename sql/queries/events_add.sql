INSERT INTO events (session_id, task_id, at_ms, type, data) VALUES (?1, ?2, ?3, ?4, ?5)
