-- What waited for this task alone is ready now.
UPDATE tasks SET
    unmet_dependency_count = unmet_dependency_count - 1,
    status = CASE WHEN unmet_dependency_count = 1 AND status = 'waiting_dependency' THEN 'pending' ELSE status END
WHERE id IN (SELECT task_id FROM task_deps WHERE depends_on_task_id = ?1)
RETURNING id, status, unmet_dependency_count
