SELECT id, status FROM sessions WHERE parent_session_id = ?1 AND ended_at_ms IS NULL ORDER BY id
