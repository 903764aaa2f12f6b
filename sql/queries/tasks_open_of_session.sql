SELECT id, status FROM tasks WHERE session_id = ?1
  AND status NOT IN ('completed', 'failed', 'skipped', 'cancelled') ORDER BY task_order
