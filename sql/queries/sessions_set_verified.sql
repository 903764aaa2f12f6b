UPDATE sessions SET verified = ?2 WHERE id = ?1
