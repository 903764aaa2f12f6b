UPDATE human_requests SET status = ?2, answer = ?3, answered_at_ms = ?4 WHERE id = ?1 AND status = 'waiting'
