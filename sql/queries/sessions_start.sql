UPDATE sessions SET status = ?3, started_at_ms = ?4 WHERE id = ?1 AND status = ?2
