SELECT session_id FROM events
WHERE seq > ?1 AND seq <= ?2 AND type IN ('session.completed', 'session.failed', 'session.cancelled') AND session_id IS NOT NULL
ORDER BY seq
