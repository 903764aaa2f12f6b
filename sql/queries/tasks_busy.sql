SELECT session_id, agent FROM tasks WHERE status = 'running'
