-- Sessions that are worked through as a plan: several tasks, one of them the session's own (order 0), and the sessions of sub-agents.

-- A word more in a check: edited in place as in 0002, for the same reason.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'OR task_type = ''merge'')',
    'OR task_type = ''merge'' OR task_type = ''plan'')')
WHERE name = 'tasks';
PRAGMA writable_schema = RESET;

-- What the plan says of the task, beyond its own columns.
ALTER TABLE tasks ADD COLUMN spec TEXT CHECK (spec IS NULL OR json_valid(spec));
-- How many tries of it have failed, whatever was made of that.
ALTER TABLE tasks ADD COLUMN failure_count INTEGER NOT NULL DEFAULT 0;
-- The number of the last iteration of those tries: the next one begins anew after it.
ALTER TABLE tasks ADD COLUMN tried_until INTEGER NOT NULL DEFAULT 0;

-- What the session is worked through by: {plan_summary, complexity, inputs}.
ALTER TABLE sessions ADD COLUMN plan TEXT CHECK (plan IS NULL OR json_valid(plan));
-- The task that waits for this session of a sub-agent.
ALTER TABLE sessions ADD COLUMN parent_task_id TEXT;
CREATE INDEX sessions_of_parent ON sessions (parent_session_id) WHERE parent_session_id IS NOT NULL;

-- The work that an iteration left for another agent: {agent, task}.
ALTER TABLE iterations ADD COLUMN spawn TEXT CHECK (spawn IS NULL OR json_valid(spawn));

-- The task whose agent works in it now, where several tasks share a workspace.
ALTER TABLE workspaces ADD COLUMN agent_task_id TEXT;

-- What was skipped or planned anew is behind a completed session too.
DROP VIEW v_session_progress;
CREATE VIEW v_session_progress AS
SELECT
    s.id AS session_id,
    substr(s.objective, 1, 80) AS query_preview,
    s.status,
    s.end_reason,
    s.verified,
    s.agent,
    s.iteration_count,
    s.max_iterations,
    s.task_count,
    s.completed_task_count,
    s.failed_task_count,
    CASE
        WHEN s.status = 'completed' THEN 100
        WHEN s.task_count > 0 THEN CAST(round(100.0 * s.completed_task_count / s.task_count) AS INTEGER)
        ELSE 0
    END AS progress_pct,
    s.status = 'awaiting_human' AS human_input_required,
    strftime('%Y-%m-%dT%H:%M:%fZ', s.created_at_ms / 1000.0, 'unixepoch') AS created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', s.ended_at_ms / 1000.0, 'unixepoch') AS completed_at
FROM sessions s
ORDER BY s.created_at_ms DESC, s.id DESC;

DROP VIEW v_session_tasks;
CREATE VIEW v_session_tasks AS
SELECT
    t.id AS task_id,
    t.session_id,
    t.task_order,
    t.task_type,
    t.description AS task_description,
    t.target AS target_file_name,
    t.status,
    t.retry_count,
    t.result_summary,
    t.error_message,
    t.ended_at_ms - t.started_at_ms AS duration_ms,
    (SELECT group_concat(d.description, '; ')
       FROM task_deps td JOIN tasks d ON d.id = td.depends_on_task_id
      WHERE td.task_id = t.id) AS depends_on_description
FROM tasks t
WHERE t.task_type <> 'plan'
ORDER BY t.session_id, t.task_order;
