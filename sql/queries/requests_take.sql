UPDATE requests SET session_id = ?2, error = ?3, taken_at_ms = ?4 WHERE id = ?1 AND taken_at_ms IS NULL
