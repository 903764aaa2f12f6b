INSERT INTO tasks (id, session_id, task_order, task_type, description, status, agent, target, result, result_summary, priority, run_at_ms,
    started_at_ms, ended_at_ms, spec)
SELECT ?1, ?2, task_order, task_type, description, status, agent, target, result, result_summary, priority, run_at_ms,
    started_at_ms, ended_at_ms, spec
FROM tasks WHERE id = ?3
ON CONFLICT (session_id, task_order) DO NOTHING
