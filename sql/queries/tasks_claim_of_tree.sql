-- The same for one session and those of its sub-agents, for a session in the foreground.
UPDATE tasks SET
    status = 'running', claimed_by = ?1, claim_number = claim_number + 1, lease_until_ms = ?2,
    started_at_ms = coalesce(started_at_ms, ?3), parked_until_ms = NULL, parked_reason = NULL
WHERE id = (
    WITH RECURSIVE tree (id) AS (
        SELECT ?4
        UNION ALL
        SELECT s.id FROM sessions s JOIN tree ON s.parent_session_id = tree.id)
    SELECT t.id FROM tree CROSS JOIN tasks t ON t.session_id = tree.id
    WHERE t.status = 'pending' AND t.held = 0 AND t.run_at_ms <= ?3
    ORDER BY t.priority DESC, t.run_at_ms, t.id LIMIT 1)
RETURNING id, session_id, claim_number, task_type
