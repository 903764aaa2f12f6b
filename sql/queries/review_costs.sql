SELECT coalesce(i.agent, s.agent) AS agent, count(*) AS iterations, coalesce(sum(i.cost_usd), 0) AS cost_usd,
    coalesce(sum(i.input_tokens), 0) AS input_tokens, coalesce(sum(i.output_tokens), 0) AS output_tokens
FROM iterations i JOIN sessions s ON s.id = i.session_id
WHERE i.started_at_ms >= ?1 AND i.started_at_ms <= ?2
GROUP BY 1 ORDER BY cost_usd DESC, 1
