SELECT retry_count FROM tasks WHERE session_id = ?1 AND task_order = 0 AND task_type = 'plan'
