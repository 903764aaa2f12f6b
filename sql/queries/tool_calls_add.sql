INSERT INTO tool_calls (id, session_id, task_id, iteration_id, name, arguments, result, ok, duration_ms, started_at_ms, retry_count)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (id) DO NOTHING
