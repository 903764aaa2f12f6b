SELECT id, text, told_at_ms, read_iteration_id FROM guidance WHERE session_id = ?1 ORDER BY id
