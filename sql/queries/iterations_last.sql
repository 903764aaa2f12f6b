SELECT * FROM iterations WHERE session_id = ?1 ORDER BY number DESC LIMIT 1
