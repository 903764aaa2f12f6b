UPDATE iterations SET verdict = ?2, ended_at_ms = ?3 WHERE session_id = ?1 AND ended_at_ms IS NULL
