SELECT * FROM human_requests WHERE session_id = ?1 AND status = 'waiting' ORDER BY id LIMIT 1
