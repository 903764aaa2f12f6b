SELECT * FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2
