-- Whatever waits for this task, or for what waits for it.
WITH RECURSIVE downstream (id) AS (
    SELECT task_id FROM task_deps WHERE depends_on_task_id = ?1
    UNION
    SELECT d.task_id FROM task_deps d JOIN downstream ON d.depends_on_task_id = downstream.id)
UPDATE tasks SET status = 'blocked' WHERE id IN (SELECT id FROM downstream) AND status = 'waiting_dependency'
RETURNING id
