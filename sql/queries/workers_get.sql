SELECT * FROM workers WHERE id = ?1
