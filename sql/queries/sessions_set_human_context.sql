UPDATE sessions SET human_context = ?2 WHERE id = ?1
