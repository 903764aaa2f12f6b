-- Back into the queue for another agent, at the place where the session began.
UPDATE tasks SET
    agent = ?4, status = 'pending', run_at_ms = ?5, due = 1, parked_until_ms = NULL, parked_reason = NULL,
    claimed_by = NULL, lease_until_ms = NULL
WHERE id = ?1 AND status = 'running' AND claimed_by = ?2 AND claim_number = ?3
