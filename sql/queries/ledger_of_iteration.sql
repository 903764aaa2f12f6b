SELECT cost_usd, input_tokens, output_tokens, tool_call_count FROM iterations WHERE id = ?1
