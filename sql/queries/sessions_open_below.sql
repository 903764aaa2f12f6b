-- Whether a sub-agent, at whatever depth, has not ended.
WITH RECURSIVE tree (id, ended_at_ms) AS (
    SELECT id, ended_at_ms FROM sessions WHERE parent_session_id = ?1
    UNION ALL
    SELECT s.id, s.ended_at_ms FROM sessions s JOIN tree ON s.parent_session_id = tree.id)
SELECT id FROM tree WHERE ended_at_ms IS NULL LIMIT 1
