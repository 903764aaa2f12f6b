SELECT * FROM events WHERE seq > ?1 AND seq <= ?2 AND type IN (?3, ?4, ?5, ?6, ?7, ?8, ?9) ORDER BY seq
