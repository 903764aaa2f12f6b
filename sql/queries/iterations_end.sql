UPDATE iterations SET
    verdict = ?2, counted = ?3, exit_code = ?4, exit_signal = ?5, failure_class = ?6, failure_detail = ?7, final_text = ?8,
    handoff = ?9, handoff_problem = ?10, verify_passed = ?11, verify_tail = ?12, tampered = ?13, question = ?14,
    fingerprint = ?15, progressed = ?16, cost_usd = ?17, input_tokens = ?18, output_tokens = ?19, tool_call_count = ?20, ended_at_ms = ?21
WHERE id = ?1 AND ended_at_ms IS NULL
