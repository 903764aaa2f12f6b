UPDATE sessions SET plan = ?2, task_count = task_count + ?3 WHERE id = ?1
