-- Numbered within the session, whichever of its tasks they belong to.
INSERT INTO iterations (id, session_id, task_id, number, prompt_file, output_file, started_at_ms, agent)
VALUES (?1, ?2, ?3, (SELECT coalesce(max(number), 0) + 1 FROM iterations WHERE session_id = ?2), ?4, ?5, ?6, ?7)
RETURNING number
