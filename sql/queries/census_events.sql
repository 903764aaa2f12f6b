SELECT type, count(*) AS count FROM events WHERE seq > ?1 AND seq <= ?2 GROUP BY type
