SELECT seq, at_ms FROM events WHERE seq >= ?1 ORDER BY seq LIMIT 1
