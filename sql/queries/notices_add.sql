INSERT INTO notices (id, session_id, target, lane, occasion, event_seq, body, next_at_ms, created_at_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
ON CONFLICT (session_id, target, event_seq) DO NOTHING
