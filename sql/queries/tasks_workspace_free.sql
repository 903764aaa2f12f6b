UPDATE tasks SET waits_for = NULL,
    held = (SELECT s.status = 'paused' OR s.status = 'awaiting_human' FROM sessions s WHERE s.id = tasks.session_id)
WHERE waits_for = ?1
