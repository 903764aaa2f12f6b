SELECT * FROM events WHERE session_id = ?1 AND type = ?2 ORDER BY seq DESC LIMIT ?3
