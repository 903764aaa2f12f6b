SELECT * FROM notices WHERE session_id = ?1 ORDER BY event_seq, target
