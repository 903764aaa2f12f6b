SELECT * FROM workers WHERE stopped_at_ms IS NULL ORDER BY started_at_ms DESC LIMIT ?1
