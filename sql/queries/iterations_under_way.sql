SELECT id FROM iterations WHERE session_id = ?1 AND ended_at_ms IS NULL LIMIT 1
