SELECT min(run_at_ms) AS at_ms FROM tasks WHERE status = 'pending' AND due = 0
