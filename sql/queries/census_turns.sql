-- The turns of agents that ended in a part of the history; a summary is a turn too, without a verdict.
SELECT
    coalesce(json_extract(data, '$.agent'), '') AS agent,
    json_extract(data, '$.verdict') AS verdict,
    json_extract(data, '$.cost_usd') AS cost_usd,
    json_extract(data, '$.input_tokens') AS input_tokens,
    json_extract(data, '$.output_tokens') AS output_tokens,
    json_extract(data, '$.tool_calls') AS tool_calls,
    json_extract(data, '$.duration_ms') AS duration_ms
FROM events
WHERE seq > ?1 AND seq <= ?2 AND type IN ('iteration.ended', 'iteration.summarized', 'iteration.not_summarized')
