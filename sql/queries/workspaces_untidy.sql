SELECT w.* FROM workspaces w JOIN sessions s ON s.id = w.untidy_session_id
WHERE w.untidy_session_id IS NOT NULL AND s.ended_at_ms IS NOT NULL ORDER BY w.path
