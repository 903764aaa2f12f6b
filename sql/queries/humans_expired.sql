SELECT id, session_id FROM human_requests WHERE status = 'waiting' AND expires_at_ms <= ?1 ORDER BY expires_at_ms LIMIT 100
