UPDATE iterations SET cost_usd = ?2, input_tokens = ?3, output_tokens = ?4, tool_call_count = ?5 WHERE id = ?1
