SELECT
    (SELECT count(*) FROM tasks WHERE status = 'pending' AND held = 0 AND due = 1) AS ready,
    (SELECT count(*) FROM tasks WHERE status = 'running') AS running,
    (SELECT count(*) FROM tasks WHERE status = 'pending' AND due = 0) AS later
