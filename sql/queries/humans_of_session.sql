SELECT * FROM human_requests WHERE session_id = ?1 ORDER BY id
