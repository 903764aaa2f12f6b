-- While its session is paused or asks a person, nothing of it may be claimed.
UPDATE tasks SET
    status = 'pending', run_at_ms = coalesce(?4, run_at_ms), due = ?5, parked_until_ms = ?6, parked_reason = ?7, waits_for = ?9,
    held = CASE WHEN ?8 THEN 1 ELSE (SELECT s.status = 'paused' OR s.status = 'awaiting_human' FROM sessions s WHERE s.id = tasks.session_id) END,
    claimed_by = NULL, lease_until_ms = NULL
WHERE id = ?1 AND status = 'running' AND claimed_by = ?2 AND claim_number = ?3
