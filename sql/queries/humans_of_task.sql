SELECT * FROM human_requests WHERE session_id = ?1 AND task_id = ?2 ORDER BY id
