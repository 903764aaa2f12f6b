UPDATE iterations SET
    verdict = ?2, counted = ?3, exit_code = ?4, exit_signal = ?5, failure_class = ?6, failure_detail = ?7, final_text = ?8,
    handoff = ?9, handoff_problem = ?10, verify_passed = ?11, verify_tail = ?12, tampered = ?13, question = ?14,
    fingerprint = ?15, progressed = ?16, ended_at_ms = ?17
WHERE id = ?1 AND ended_at_ms IS NULL
