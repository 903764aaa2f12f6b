UPDATE sessions SET reported_at_ms = ?2 WHERE id = ?1
