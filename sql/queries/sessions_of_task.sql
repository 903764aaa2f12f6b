SELECT * FROM sessions WHERE parent_session_id = ?1 AND parent_task_id = ?2 ORDER BY id
