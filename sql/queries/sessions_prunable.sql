-- A sub-agent's goes with its parent's or later: whoever gave it the work counts how often it failed.
SELECT id FROM sessions WHERE ended_at_ms < ?1 AND reported_at_ms IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM sessions child WHERE child.parent_session_id = sessions.id AND child.ended_at_ms IS NULL)
  AND NOT EXISTS (SELECT 1 FROM sessions parent WHERE parent.id = sessions.parent_session_id AND parent.ended_at_ms IS NULL)
  AND NOT EXISTS (SELECT 1 FROM notices WHERE notices.session_id = sessions.id AND notices.status = 'owed')
ORDER BY id LIMIT ?2
