SELECT * FROM ticks WHERE schedule = ?1 ORDER BY due_at_ms DESC LIMIT 1
