INSERT INTO human_requests (id, session_id, task_id, kind, status, question, options, error, asked_at_ms, expires_at_ms)
VALUES (?1, ?2, ?3, ?4, 'waiting', ?5, ?6, ?7, ?8, ?9)
