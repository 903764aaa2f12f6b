UPDATE tasks SET held = 1, waits_for = ?2, parked_reason = ?3 WHERE session_id = ?1 AND status = 'pending'
