UPDATE workers SET stopped_at_ms = ?2 WHERE id = ?1
