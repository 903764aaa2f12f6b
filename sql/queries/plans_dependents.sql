SELECT t.task_order FROM task_deps td JOIN tasks t ON t.id = td.task_id WHERE td.depends_on_task_id = ?1 ORDER BY t.task_order
