UPDATE tasks SET held = CASE WHEN waits_for IS NULL THEN 0 ELSE 1 END WHERE session_id = ?1
