UPDATE sessions SET completed_task_count = completed_task_count + ?2, failed_task_count = failed_task_count + ?3 WHERE id = ?1
