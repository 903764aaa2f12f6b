SELECT * FROM tasks WHERE session_id = ?1 ORDER BY task_order LIMIT 1
