-- The same for one task by name, for a session in the foreground.
UPDATE tasks SET
    status = 'running', claimed_by = ?1, claim_number = claim_number + 1, lease_until_ms = ?2,
    started_at_ms = coalesce(started_at_ms, ?3), parked_until_ms = NULL, parked_reason = NULL
WHERE id = ?4 AND status = 'pending' AND held = 0 AND run_at_ms <= ?3
RETURNING id, session_id, claim_number
