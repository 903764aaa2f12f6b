SELECT id FROM iterations WHERE session_id = ?1 AND task_id = ?2 AND ended_at_ms IS NULL LIMIT 1
