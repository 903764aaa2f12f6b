UPDATE sessions SET iteration_count = iteration_count + 1 WHERE id = ?1
