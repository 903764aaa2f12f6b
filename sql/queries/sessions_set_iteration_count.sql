UPDATE sessions SET iteration_count = ?2 WHERE id = ?1
