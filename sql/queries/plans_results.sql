SELECT id, task_order, task_type, description, status, result, result_summary, error_type, error_message FROM tasks
WHERE session_id = ?1 AND task_type <> 'plan' ORDER BY task_order
