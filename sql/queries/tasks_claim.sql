-- One statement. The partial index tasks_ready holds just the ready rows in just this order, so the backlog does not matter.
UPDATE tasks SET
    status = 'running', claimed_by = ?1, claim_number = claim_number + 1, lease_until_ms = ?2,
    started_at_ms = coalesce(started_at_ms, ?3), parked_until_ms = NULL, parked_reason = NULL
WHERE id = (
    SELECT id FROM tasks WHERE status = 'pending' AND held = 0 AND due = 1
    ORDER BY priority DESC, run_at_ms, id LIMIT 1)
RETURNING id, session_id, claim_number, task_type
