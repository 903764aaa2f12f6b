SELECT * FROM sessions WHERE ended_at_ms IS NOT NULL AND reported_at_ms IS NULL ORDER BY ended_at_ms LIMIT ?1
