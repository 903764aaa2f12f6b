UPDATE sessions SET
    iteration_count = iteration_count + ?2,
    cost_usd = cost_usd + ?3,
    input_tokens = input_tokens + ?4,
    output_tokens = output_tokens + ?5,
    tool_call_count = tool_call_count + ?6
WHERE id = ?1
