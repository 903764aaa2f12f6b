SELECT d.task_order, d.task_type, d.description, d.status, d.result, d.result_summary, d.error_message
FROM task_deps td JOIN tasks d ON d.id = td.depends_on_task_id WHERE td.task_id = ?1 ORDER BY d.task_order
