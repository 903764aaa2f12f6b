SELECT id, session_id, task_id, question FROM human_requests WHERE status = 'waiting' AND expires_at_ms <= ?1 ORDER BY expires_at_ms LIMIT 100
