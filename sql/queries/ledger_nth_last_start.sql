SELECT started_at_ms FROM iterations WHERE started_at_ms > ?1 ORDER BY started_at_ms DESC LIMIT 1 OFFSET ?2
