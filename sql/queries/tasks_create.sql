INSERT INTO tasks (
    id, session_id, task_order, task_type, description, status, agent, priority, not_before_ms, run_at_ms, due,
    claimed_by, claim_number, lease_until_ms, started_at_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
