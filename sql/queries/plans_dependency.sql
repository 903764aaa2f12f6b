INSERT INTO task_deps (task_id, depends_on_task_id) VALUES (?1, ?2)
