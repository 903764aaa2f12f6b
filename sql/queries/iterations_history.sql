-- What the loop needs of a task's past after an iteration it knows: the end of each final text, but long texts only where they are used.
-- What was rewound is not its past.
SELECT id, session_id, task_id, number, verdict, counted, exit_code, exit_signal, failure_class, failure_detail, reset_at_ms,
    substr(final_text, -400) AS final_text,
    prompt_file, output_file,
    CASE WHEN number = (SELECT max(number) FROM iterations WHERE session_id = ?1 AND task_id = ?3 AND handoff IS NOT NULL AND rewound_at_ms IS NULL) THEN handoff END AS handoff,
    handoff_problem, verify_passed,
    CASE WHEN number = (SELECT max(number) FROM iterations WHERE session_id = ?1 AND task_id = ?3 AND rewound_at_ms IS NULL) THEN verify_tail END AS verify_tail,
    tampered, question, fingerprint, progressed, git_commit, cost_usd, input_tokens, output_tokens, tool_call_count,
    started_at_ms, ended_at_ms, agent, spawn, rewound_at_ms
FROM iterations WHERE session_id = ?1 AND task_id = ?3 AND number > ?2 AND rewound_at_ms IS NULL ORDER BY number
