INSERT INTO steps (iteration_id, number, session_id, model, input_tokens, cached_tokens, cache_written_tokens, output_tokens, cost_usd, at_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (iteration_id, number) DO NOTHING
