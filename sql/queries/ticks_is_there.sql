SELECT EXISTS (SELECT 1 FROM ticks WHERE schedule = ?1 AND due_at_ms = ?2) AS is_there
