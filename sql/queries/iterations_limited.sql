SELECT agent, failure_class, max(reset_at_ms) AS reset_at_ms FROM iterations
WHERE reset_at_ms > ?1 AND agent IS NOT NULL AND failure_class IN ('rate_limit', 'usage_limit')
GROUP BY agent, failure_class
