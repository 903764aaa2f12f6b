DELETE FROM ticks WHERE schedule = ?1 AND due_at_ms < ?2
