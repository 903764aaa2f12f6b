SELECT * FROM sessions WHERE id = ?1
