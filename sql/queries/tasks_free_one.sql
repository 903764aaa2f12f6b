-- One of those that wait for room; each that leaves makes room for one. Whoever may not be claimed now comes last.
UPDATE tasks SET waits_for = NULL,
    held = (SELECT s.status = 'paused' OR s.status = 'awaiting_human' FROM sessions s WHERE s.id = tasks.session_id)
WHERE id = (
    SELECT t.id FROM tasks t JOIN sessions s ON s.id = t.session_id WHERE t.waits_for = ?1 AND t.status = 'pending'
    ORDER BY s.status = 'paused' OR s.status = 'awaiting_human', t.priority DESC, t.run_at_ms, t.id LIMIT 1)
