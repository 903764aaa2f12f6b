UPDATE sessions SET final_answer = ?2, verified = ?3, completed_task_count = completed_task_count + ?4,
    failed_task_count = failed_task_count + ?5
WHERE id = ?1
