INSERT INTO guidance (id, session_id, text, told_at_ms) VALUES (?1, ?2, ?3, ?4)
