SELECT parent_session_id, parent_task_id FROM sessions WHERE id = ?1
