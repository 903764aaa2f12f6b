-- What has ended is parked no more, and takes nobody's room.
UPDATE tasks SET
    status = ?3, ended_at_ms = ?4, run_at_ms = coalesce(?5, run_at_ms), due = CASE WHEN ?5 IS NULL THEN due ELSE 1 END,
    parked_until_ms = CASE WHEN ?4 IS NULL THEN parked_until_ms END,
    parked_reason = CASE WHEN ?4 IS NULL THEN parked_reason END,
    held = CASE WHEN ?4 IS NULL OR waits_for IS NULL THEN held ELSE 0 END,
    waits_for = CASE WHEN ?4 IS NULL THEN waits_for END
WHERE id = ?1 AND status = ?2
