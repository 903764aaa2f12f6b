INSERT INTO workspaces (path, main_path, task_id, branch, holder_session_id, held_since_ms, created_at_ms, used_at_ms, untidy_session_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6, ?5)
ON CONFLICT (path) DO UPDATE SET main_path = excluded.main_path, task_id = excluded.task_id, branch = excluded.branch,
    used_at_ms = excluded.used_at_ms, untidy_session_id = excluded.untidy_session_id
