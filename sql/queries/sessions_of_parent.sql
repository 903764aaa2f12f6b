SELECT * FROM sessions WHERE parent_session_id = ?1 ORDER BY id
