UPDATE iterations SET
    verdict = ?2, counted = ?3, exit_code = ?4, exit_signal = ?5, failure_class = ?6, failure_detail = ?7, reset_at_ms = ?8,
    final_text = ?9, handoff = ?10, handoff_problem = ?11, verify_passed = ?12, verify_tail = ?13, tampered = ?14, question = ?15,
    fingerprint = ?16, progressed = ?17, ended_at_ms = ?18, spawn = ?19
WHERE id = ?1 AND ended_at_ms IS NULL
RETURNING agent, started_at_ms
