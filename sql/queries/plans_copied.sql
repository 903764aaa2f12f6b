UPDATE sessions SET task_count = task_count + ?2, completed_task_count = completed_task_count + ?2 WHERE id = ?1
