SELECT status, count(*) AS count FROM tasks WHERE session_id = ?1 AND task_type <> 'plan' GROUP BY status
