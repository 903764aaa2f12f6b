INSERT INTO tasks (
    id, session_id, task_order, task_type, description, status, agent, target, priority, run_at_ms, unmet_dependency_count, spec)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
