-- The session itself and those of the sub-agents below it.
WITH RECURSIVE tree (id) AS (
    VALUES (?1)
    UNION ALL
    SELECT sessions.id FROM sessions JOIN tree ON sessions.parent_session_id = tree.id
)
SELECT * FROM events WHERE session_id IN (SELECT id FROM tree) AND seq > ?2 ORDER BY seq LIMIT ?3
