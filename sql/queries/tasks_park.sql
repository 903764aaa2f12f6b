UPDATE tasks SET
    status = 'pending', run_at_ms = coalesce(?4, run_at_ms), due = ?5, parked_until_ms = ?6, parked_reason = ?7, held = ?8, waits_for = ?9,
    claimed_by = NULL, lease_until_ms = NULL
WHERE id = ?1 AND status = 'running' AND claimed_by = ?2 AND claim_number = ?3
