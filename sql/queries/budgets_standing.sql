-- Most requests have no budget: that is seen without reading them as JSON.
SELECT parent_session_id, cost_usd, input_tokens + output_tokens AS tokens, tool_call_count, waited_ms, started_at_ms,
    CASE WHEN instr(request, '"budget"') > 0 THEN json_extract(request, '$.budget') END AS budget
FROM sessions WHERE id = ?1
