-- The claim where some agents are as busy as they may be: the first ready task of each of the others by the index
-- tasks_ready_of_agent, and of these the first. So the backlog of a busy agent does not matter.
UPDATE tasks SET
    status = 'running', claimed_by = ?1, claim_number = claim_number + 1, lease_until_ms = ?2,
    started_at_ms = coalesce(started_at_ms, ?3), parked_until_ms = NULL, parked_reason = NULL
WHERE id = (
    SELECT t.id FROM json_each(?4) free JOIN tasks t ON t.id = (
        SELECT r.id FROM tasks r WHERE r.agent = free.value AND r.status = 'pending' AND r.held = 0 AND r.due = 1
        ORDER BY r.priority DESC, r.run_at_ms, r.id LIMIT 1)
    ORDER BY t.priority DESC, t.run_at_ms, t.id LIMIT 1)
RETURNING id, session_id, claim_number, task_type
