SELECT sum(cost_usd) AS cost_usd FROM iterations WHERE started_at_ms >= ?1
