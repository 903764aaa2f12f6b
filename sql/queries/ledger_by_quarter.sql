-- Quarters of an hour: every time zone's days begin with one.
SELECT started_at_ms / 900000 * 900000 AS at_ms, sum(cost_usd) AS cost_usd FROM iterations
WHERE started_at_ms >= ?1 AND cost_usd > 0 GROUP BY 1 ORDER BY 1
