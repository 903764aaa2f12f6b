INSERT INTO sessions (
    id, status, objective, agent, "trigger", origin, dedupe_key, request, max_iterations, completion_promise,
    task_count, parent_session_id, follows_session_id, depth, workspace, protected, created_at_ms, parent_task_id, fork, iteration_count)
VALUES (?1, 'created', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?17, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?18, ?19)
