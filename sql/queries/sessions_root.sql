WITH RECURSIVE up (id, parent) AS (
    SELECT id, parent_session_id FROM sessions WHERE id = ?1
    UNION ALL
    SELECT s.id, s.parent_session_id FROM sessions s JOIN up ON s.id = up.parent)
SELECT id FROM up WHERE parent IS NULL
