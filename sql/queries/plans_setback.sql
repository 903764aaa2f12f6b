UPDATE tasks SET
    failure_count = failure_count + 1,
    tried_until = (SELECT coalesce(max(i.number), 0) FROM iterations i WHERE i.session_id = tasks.session_id AND i.task_id = tasks.id)
WHERE id = ?1
