-- A prefix as a range, so that the primary key finds it.
SELECT id FROM sessions WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 5
