-- The sessions that ended since a place in the history and a time, newest first. Those of sub-agents are a part of others.
SELECT s.id, s.status, s.end_reason, s.end_detail, s.verified, substr(s.objective, 1, 400) AS objective, s.agent, s.iteration_count, s.cost_usd,
    s.created_at_ms, s.started_at_ms, s.ended_at_ms
FROM events e JOIN sessions s ON s.id = e.session_id
WHERE e.seq >= ?1 AND e.at_ms >= ?2 AND e.at_ms <= ?3 AND e.type IN ('session.completed', 'session.failed', 'session.cancelled')
    AND s.parent_session_id IS NULL AND s.ended_at_ms IS NOT NULL
ORDER BY e.seq DESC
