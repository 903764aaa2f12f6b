UPDATE tasks SET due = 1 WHERE status = 'pending' AND due = 0 AND run_at_ms <= ?1
