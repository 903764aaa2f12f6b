UPDATE notices SET status = ?2, attempt_count = attempt_count + 1, last_error = ?3, next_at_ms = coalesce(?4, next_at_ms), settled_at_ms = ?5
WHERE id = ?1 AND status = 'owed'
