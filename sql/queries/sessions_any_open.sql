-- Whether a session or one of its sub-agents, however deep, has not ended.
WITH RECURSIVE tree (id, ended_at_ms) AS (
    SELECT id, ended_at_ms FROM sessions WHERE id = ?1
    UNION ALL
    SELECT s.id, s.ended_at_ms FROM sessions s JOIN tree ON s.parent_session_id = tree.id)
SELECT EXISTS (SELECT 1 FROM tree WHERE ended_at_ms IS NULL) AS any_open
