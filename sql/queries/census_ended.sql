-- The sessions that ended in a part of the history.
SELECT s.agent, s.status, s.end_reason, s.verified, s.iteration_count, s.ended_at_ms - coalesce(s.started_at_ms, s.created_at_ms) AS duration_ms
FROM events e JOIN sessions s ON s.id = e.session_id
WHERE e.seq > ?1 AND e.seq <= ?2 AND e.type IN ('session.completed', 'session.failed', 'session.cancelled')
