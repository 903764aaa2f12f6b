SELECT * FROM iterations WHERE session_id = ?1 AND task_id = ?2 ORDER BY number DESC LIMIT 1
