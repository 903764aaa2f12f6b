DELETE FROM events WHERE session_id = ?1
