UPDATE tasks SET held = 1 WHERE session_id = ?1
