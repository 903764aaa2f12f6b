-- Why the session's own task is called before all is done. The first reason stays: what follows is its consequence.
UPDATE tasks SET error_type = ?2, error_message = ?3, retry_count = retry_count + ?4
WHERE session_id = ?1 AND task_order = 0 AND task_type = 'plan' AND error_type IS NULL
