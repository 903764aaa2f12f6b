-- Whoever rewinds an ended session holds its workspace for that long only; one that died over it holds it still. Sub-agents that are at
-- work hold it by the session they work for, also when that has ended.
SELECT w.path FROM workspaces w JOIN sessions s ON s.id = w.holder_session_id
WHERE s.ended_at_ms IS NOT NULL AND w.held_since_ms < ?1
  AND NOT EXISTS (SELECT 1 FROM sessions o WHERE o.workspace = w.path AND o.ended_at_ms IS NULL AND o.parent_session_id IS NOT NULL)
