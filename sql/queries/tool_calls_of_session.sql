SELECT id, task_id, iteration_id, name, ok, duration_ms, started_at_ms FROM tool_calls WHERE session_id = ?1 ORDER BY id
