INSERT INTO iterations (id, session_id, task_id, number, prompt_file, output_file, started_at_ms, agent)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
