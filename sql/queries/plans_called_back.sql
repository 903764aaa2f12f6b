-- Only while it waits for those that still run: then nobody wants what they do.
SELECT session_id FROM tasks WHERE task_order = 0 AND task_type = 'plan' AND status = 'waiting_dependency' AND error_type IS NOT NULL
  AND session_id IN (SELECT value FROM json_each(?1))
