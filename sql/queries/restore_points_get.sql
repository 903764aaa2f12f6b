SELECT * FROM restore_points WHERE session_id = ?1 AND number = ?2
