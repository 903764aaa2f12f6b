SELECT count(*) AS count FROM events WHERE session_id = ?1 AND type = ?2
