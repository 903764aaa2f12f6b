-- The claim where no further session may start: among the tasks of those under way, which are few.
UPDATE tasks SET
    status = 'running', claimed_by = ?1, claim_number = claim_number + 1, lease_until_ms = ?2,
    started_at_ms = coalesce(started_at_ms, ?3), parked_until_ms = NULL, parked_reason = NULL
WHERE id = (
    SELECT t.id FROM json_each(?5) open CROSS JOIN tasks t
    WHERE t.session_id = open.value AND t.status = 'pending' AND t.held = 0 AND t.due = 1
      AND t.agent IN (SELECT value FROM json_each(?4))
    ORDER BY t.priority DESC, t.run_at_ms, t.id LIMIT 1)
RETURNING id, session_id, claim_number, task_type
