SELECT 1 AS called FROM tasks
WHERE session_id = ?1 AND task_order = 0 AND task_type = 'plan' AND status = 'waiting_dependency' AND error_type IS NOT NULL
