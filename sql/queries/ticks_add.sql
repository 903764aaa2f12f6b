INSERT INTO ticks (schedule, due_at_ms, outcome, detail, session_id, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
