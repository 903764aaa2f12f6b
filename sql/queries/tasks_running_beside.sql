SELECT count(*) AS count FROM tasks WHERE status = 'running' AND session_id = ?1 AND id <> ?2 AND task_type <> 'plan'
