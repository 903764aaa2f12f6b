SELECT t.session_id, t.parked_until_ms, coalesce(t.parked_reason, '') AS parked_reason, substr(s.objective, 1, 400) AS objective
FROM tasks t JOIN sessions s ON s.id = t.session_id
WHERE t.status = 'pending' AND t.due = 0 AND t.parked_until_ms IS NOT NULL ORDER BY t.run_at_ms LIMIT ?1
