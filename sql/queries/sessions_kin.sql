-- For whom a session works, and whether it ever had sub-agents of its own.
SELECT parent_session_id, parent_task_id,
    EXISTS (SELECT 1 FROM sessions child WHERE child.parent_session_id = sessions.id) AS has_children
FROM sessions WHERE id = ?1
