SELECT status, count(*) AS count FROM sessions WHERE ended_at_ms IS NULL GROUP BY status
