-- Whoever was cancelled while it waited itself leaves its place to the next.
UPDATE tasks SET (waits_for, held) = (
    SELECT own.waits_for, own.waits_for IS NOT NULL OR s.status = 'paused' OR s.status = 'awaiting_human'
    FROM sessions s LEFT JOIN tasks own ON own.session_id = ?2 AND own.waits_for LIKE 'session:%'
    WHERE s.id = tasks.session_id)
WHERE waits_for = ?1
