-- So many tasks of a plan are over; with the last of them the session's own is ready.
UPDATE tasks SET
    unmet_dependency_count = unmet_dependency_count - ?2,
    status = CASE WHEN unmet_dependency_count = ?2 AND status = 'waiting_dependency' THEN 'pending' ELSE status END
WHERE session_id = ?1 AND task_order = 0 AND task_type = 'plan'
RETURNING id, status, unmet_dependency_count
