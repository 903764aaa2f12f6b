SELECT * FROM iterations WHERE session_id = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3
