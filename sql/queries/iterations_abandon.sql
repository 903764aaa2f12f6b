UPDATE iterations SET verdict = ?3, ended_at_ms = ?4 WHERE session_id = ?1 AND task_id = ?2 AND ended_at_ms IS NULL
