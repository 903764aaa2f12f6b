UPDATE tasks SET waits_for = NULL,
    held = CASE WHEN (SELECT status FROM sessions s WHERE s.id = tasks.session_id) = 'paused' THEN 1 ELSE 0 END
WHERE waits_for = ?1
