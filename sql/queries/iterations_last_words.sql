SELECT final_text FROM iterations WHERE session_id = ?1 AND task_id = ?2 AND final_text IS NOT NULL ORDER BY number DESC LIMIT 1
