-- A redo after a crash may find that more has changed since; the number stays, what it stands for is the newest.
INSERT INTO restore_points (session_id, number, task_id, after_number, ground, place, branch, commit_id, facts, remarks, iteration_count, plan, at_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, (SELECT iteration_count FROM sessions WHERE id = ?1),
    (SELECT json_group_object(CAST(task_order AS TEXT), status) FROM tasks WHERE session_id = ?1 HAVING max(task_order) > 0), ?11)
ON CONFLICT (session_id, number) DO UPDATE SET ground = excluded.ground, place = excluded.place, branch = excluded.branch,
    commit_id = excluded.commit_id, facts = excluded.facts, remarks = excluded.remarks, at_ms = excluded.at_ms
