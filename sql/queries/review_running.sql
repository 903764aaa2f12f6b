-- Sessions that somebody works on right now, longest at it first.
SELECT s.id, substr(s.objective, 1, 400) AS objective, s.agent, s.iteration_count, s.max_iterations, s.cost_usd, s.started_at_ms
FROM sessions s
WHERE s.id IN (SELECT t.session_id FROM tasks t WHERE t.status = 'running')
ORDER BY s.id LIMIT ?1
