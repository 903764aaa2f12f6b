UPDATE sessions SET control = ?2 WHERE id = ?1 AND ended_at_ms IS NULL
