-- The session of a sub-agent, at whatever depth, that waits for a person.
WITH RECURSIVE tree (id) AS (
    SELECT id FROM sessions WHERE parent_session_id = ?1
    UNION ALL
    SELECT s.id FROM sessions s JOIN tree ON s.parent_session_id = tree.id)
SELECT s.* FROM tree JOIN sessions s ON s.id = tree.id WHERE s.status = 'awaiting_human' ORDER BY s.id LIMIT 1
