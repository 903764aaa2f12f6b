SELECT * FROM restore_points WHERE session_id = ?1 ORDER BY number
