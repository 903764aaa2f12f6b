SELECT id FROM sessions WHERE ended_at_ms < ?1 AND reported_at_ms IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM sessions child WHERE child.parent_session_id = sessions.id AND child.ended_at_ms IS NULL)
ORDER BY id LIMIT ?2
