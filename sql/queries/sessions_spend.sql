UPDATE sessions SET
    cost_usd = max(0, cost_usd + ?2),
    input_tokens = input_tokens + ?3,
    output_tokens = output_tokens + ?4,
    tool_call_count = tool_call_count + ?5
WHERE id = ?1
RETURNING parent_session_id
