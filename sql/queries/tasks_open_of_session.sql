SELECT id, status FROM tasks WHERE session_id = ?1
  AND status <> 'completed' AND status <> 'failed' AND status <> 'skipped' AND status <> 'cancelled' ORDER BY task_order
