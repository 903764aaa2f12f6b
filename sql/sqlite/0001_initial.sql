-- The first schema. Never edited once landed: a change is a new file.
-- Ids are UUIDv7 text, times integer milliseconds, JSON valid text. The state words equal the enums in src/model; a test holds them equal.

CREATE TABLE workers (
    id              TEXT PRIMARY KEY NOT NULL,
    role            TEXT NOT NULL CHECK (role IN ('serve', 'run')),
    pid             INTEGER NOT NULL,
    -- With the pid, tells a process from a later one that got the same number.
    pid_started     INTEGER NOT NULL,
    boot_id         TEXT NOT NULL,
    host            TEXT NOT NULL,
    version         TEXT NOT NULL,
    started_at_ms   INTEGER NOT NULL,
    heartbeat_at_ms INTEGER NOT NULL,
    stopped_at_ms   INTEGER
) WITHOUT ROWID;

CREATE TABLE sessions (
    id                   TEXT PRIMARY KEY NOT NULL,
    status               TEXT NOT NULL CHECK (status IN (
        'created', 'discovering', 'planning', 'executing', 'summarizing', 'awaiting_human', 'paused', 'completed', 'failed', 'cancelled')),
    -- Where a paused or waiting session returns to.
    came_from            TEXT,
    control              TEXT CHECK (control IN ('pause', 'pause_now', 'cancel')),
    end_reason           TEXT CHECK (end_reason IN (
        'completed', 'max_iterations', 'budget_usd', 'budget_tokens', 'budget_wall', 'budget_tool_calls', 'stagnated', 'doom_loop',
        'agent_failed', 'plan_invalid', 'task_failed', 'poison', 'human_timeout', 'human_rejected', 'cancelled')),
    end_detail           TEXT,
    objective            TEXT NOT NULL,
    agent                TEXT NOT NULL,
    "trigger"            TEXT NOT NULL CHECK ("trigger" IN ('inbox', 'cron', 'webhook', 'api', 'cli', 'sub_agent')),
    -- The stem of the file it came in, or of the objective: the answer's name in the outbox.
    origin               TEXT NOT NULL,
    dedupe_key           TEXT,
    request              TEXT NOT NULL CHECK (json_valid(request)),
    max_iterations       INTEGER NOT NULL CHECK (max_iterations >= 1),
    completion_promise   TEXT NOT NULL CHECK (completion_promise <> ''),
    iteration_count      INTEGER NOT NULL DEFAULT 0,
    verified             TEXT CHECK (verified IN ('verified', 'claimed', 'tampered')),
    task_count           INTEGER NOT NULL DEFAULT 0,
    completed_task_count INTEGER NOT NULL DEFAULT 0,
    failed_task_count    INTEGER NOT NULL DEFAULT 0,
    final_answer         TEXT,
    human_context        TEXT CHECK (human_context IS NULL OR json_valid(human_context)),
    cost_usd             REAL NOT NULL DEFAULT 0,
    input_tokens         INTEGER NOT NULL DEFAULT 0,
    output_tokens        INTEGER NOT NULL DEFAULT 0,
    tool_call_count      INTEGER NOT NULL DEFAULT 0,
    parent_session_id    TEXT REFERENCES sessions (id) ON DELETE SET NULL,
    -- The session this one continues or retries.
    follows_session_id   TEXT REFERENCES sessions (id) ON DELETE SET NULL,
    depth                INTEGER NOT NULL DEFAULT 0,
    workspace            TEXT NOT NULL,
    -- Hashes of the files under `protect` as they were before the agent came: {path: hash}.
    protected            TEXT CHECK (protected IS NULL OR json_valid(protected)),
    -- Time spent waiting for a person or paused: not held against the wall-clock budget.
    waited_ms            INTEGER NOT NULL DEFAULT 0,
    waiting_since_ms     INTEGER,
    created_at_ms        INTEGER NOT NULL,
    started_at_ms        INTEGER,
    ended_at_ms          INTEGER,
    -- When the outbox file was written; a null after the end means it is still owed.
    reported_at_ms       INTEGER
);
CREATE UNIQUE INDEX sessions_dedupe ON sessions (dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE INDEX sessions_open ON sessions (id) WHERE ended_at_ms IS NULL;
CREATE INDEX sessions_unreported ON sessions (ended_at_ms) WHERE ended_at_ms IS NOT NULL AND reported_at_ms IS NULL;
CREATE INDEX sessions_controlled ON sessions (id) WHERE control IS NOT NULL;

CREATE TABLE tasks (
    id               TEXT PRIMARY KEY NOT NULL,
    session_id       TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    task_order       INTEGER NOT NULL,
    task_type        TEXT NOT NULL CHECK (task_type IN (
        'agent', 'analysis', 'sql_query', 'sql_aggregate', 'validation', 'transform', 'shell', 'merge')),
    description      TEXT NOT NULL,
    status           TEXT NOT NULL CHECK (status IN (
        'pending', 'waiting_dependency', 'running', 'retrying', 'completed', 'failed', 'skipped', 'human_required', 'blocked', 'cancelled')),
    agent            TEXT,
    target           TEXT,
    result           TEXT CHECK (result IS NULL OR json_valid(result)),
    result_summary   TEXT,
    error_type       TEXT,
    error_message    TEXT,
    retry_count      INTEGER NOT NULL DEFAULT 0,
    priority         INTEGER NOT NULL DEFAULT 0,
    not_before_ms    INTEGER,
    parked_until_ms  INTEGER,
    parked_reason    TEXT,
    -- The claim looks at these three and nothing else: not held back, its time has come, ordered by that time.
    held             INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),
    due              INTEGER NOT NULL DEFAULT 1 CHECK (due IN (0, 1)),
    run_at_ms        INTEGER NOT NULL,
    -- Held back until this workspace is free.
    waits_for        TEXT,
    unmet_dependency_count INTEGER NOT NULL DEFAULT 0,
    claimed_by       TEXT,
    claim_number     INTEGER NOT NULL DEFAULT 0,
    lease_until_ms   INTEGER,
    -- How many claimants died of it in a row, their turn with them.
    death_count      INTEGER NOT NULL DEFAULT 0,
    started_at_ms    INTEGER,
    ended_at_ms      INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX tasks_of_session ON tasks (session_id, task_order);
CREATE INDEX tasks_ready ON tasks (priority DESC, run_at_ms, id) WHERE status = 'pending' AND held = 0 AND due = 1;
CREATE INDEX tasks_later ON tasks (run_at_ms) WHERE status = 'pending' AND due = 0;
CREATE INDEX tasks_running ON tasks (lease_until_ms) WHERE status = 'running';
CREATE INDEX tasks_waiting_for_workspace ON tasks (waits_for) WHERE waits_for IS NOT NULL;

CREATE TABLE task_deps (
    task_id            TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    depends_on_task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    PRIMARY KEY (task_id, depends_on_task_id)
) WITHOUT ROWID;
CREATE INDEX task_deps_reverse ON task_deps (depends_on_task_id);

CREATE TABLE iterations (
    id              TEXT PRIMARY KEY NOT NULL,
    session_id      TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    task_id         TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    number          INTEGER NOT NULL,
    verdict         TEXT CHECK (verdict IN (
        'promised', 'unfinished', 'empty', 'rate_limited', 'failed', 'timed_out', 'doom_loop', 'cancelled', 'lost')),
    counted         INTEGER NOT NULL DEFAULT 0 CHECK (counted IN (0, 1)),
    exit_code       INTEGER,
    exit_signal     INTEGER,
    failure_class   TEXT CHECK (failure_class IN (
        'auth', 'configuration', 'rate_limit', 'usage_limit', 'overloaded', 'network', 'context_overflow', 'refusal', 'crash', 'out_of_memory',
        'timeout', 'silence', 'other')),
    failure_detail  TEXT,
    -- When the limit that ended it is lifted, as far as the agent said so.
    reset_at_ms     INTEGER,
    final_text      TEXT,
    prompt_file     TEXT NOT NULL,
    output_file     TEXT NOT NULL,
    handoff         TEXT CHECK (handoff IS NULL OR json_valid(handoff)),
    handoff_problem TEXT,
    -- null: not run; 1: exit 0.
    verify_passed   INTEGER CHECK (verify_passed IN (0, 1)),
    verify_tail     TEXT,
    tampered        TEXT CHECK (tampered IS NULL OR json_valid(tampered)),
    question        TEXT CHECK (question IS NULL OR json_valid(question)),
    -- What the next iteration is compared with, to see whether anything moves.
    fingerprint     TEXT,
    progressed      INTEGER CHECK (progressed IN (0, 1)),
    git_commit      TEXT,
    cost_usd        REAL,
    input_tokens    INTEGER,
    output_tokens   INTEGER,
    tool_call_count INTEGER NOT NULL DEFAULT 0,
    started_at_ms   INTEGER NOT NULL,
    ended_at_ms     INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX iterations_of_session ON iterations (session_id, number);
-- For what was spent and started since a time.
CREATE INDEX iterations_by_start ON iterations (started_at_ms, cost_usd);

CREATE TABLE tool_calls (
    id            TEXT PRIMARY KEY NOT NULL,
    session_id    TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    task_id       TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    iteration_id  TEXT REFERENCES iterations (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    arguments     TEXT CHECK (arguments IS NULL OR json_valid(arguments)),
    result        TEXT,
    ok            INTEGER CHECK (ok IN (0, 1)),
    duration_ms   INTEGER,
    retry_count   INTEGER NOT NULL DEFAULT 0,
    started_at_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX tool_calls_of_session ON tool_calls (session_id, id);

CREATE TABLE human_requests (
    id             TEXT PRIMARY KEY NOT NULL,
    session_id     TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    task_id        TEXT REFERENCES tasks (id) ON DELETE CASCADE,
    kind           TEXT NOT NULL CHECK (kind IN ('question', 'gate')),
    status         TEXT NOT NULL CHECK (status IN ('waiting', 'answered', 'approved', 'rejected', 'expired', 'withdrawn')),
    question       TEXT NOT NULL,
    options        TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(options)),
    error          TEXT,
    answer         TEXT,
    asked_at_ms    INTEGER NOT NULL,
    expires_at_ms  INTEGER NOT NULL,
    answered_at_ms INTEGER
) WITHOUT ROWID;
CREATE INDEX human_requests_of_session ON human_requests (session_id, id);
CREATE INDEX human_requests_waiting ON human_requests (expires_at_ms) WHERE status = 'waiting';

-- What a person told a session while it worked; the next iteration reads it.
CREATE TABLE guidance (
    id                TEXT PRIMARY KEY NOT NULL,
    session_id        TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    text              TEXT NOT NULL,
    told_at_ms        INTEGER NOT NULL,
    -- The first iteration whose prompt had it; a null is unread, and an unread word holds up the end.
    read_iteration_id TEXT
) WITHOUT ROWID;
CREATE INDEX guidance_of_session ON guidance (session_id, id);

CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    session_id TEXT,
    task_id    TEXT,
    at_ms      INTEGER NOT NULL,
    type       TEXT NOT NULL,
    data       TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(data))
);
CREATE INDEX events_of_session ON events (session_id, seq);

CREATE TABLE schedules (
    name            TEXT PRIMARY KEY NOT NULL,
    paused          INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    last_tick_ms    INTEGER,
    last_session_id TEXT REFERENCES sessions (id) ON DELETE SET NULL
) WITHOUT ROWID;

CREATE TABLE deliveries (
    source         TEXT NOT NULL,
    delivery_id    TEXT NOT NULL,
    session_id     TEXT REFERENCES sessions (id) ON DELETE CASCADE,
    received_at_ms INTEGER NOT NULL,
    PRIMARY KEY (source, delivery_id)
) WITHOUT ROWID;

CREATE TABLE workspaces (
    path              TEXT PRIMARY KEY NOT NULL,
    -- The session that works in it now; it keeps it until it ends.
    holder_session_id TEXT REFERENCES sessions (id) ON DELETE SET NULL,
    held_since_ms     INTEGER,
    created_at_ms     INTEGER NOT NULL,
    used_at_ms        INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX workspaces_held ON workspaces (holder_session_id) WHERE holder_session_id IS NOT NULL;

-- The fifth way in: INSERT INTO requests(body) VALUES('…') from sqlite3. The daemon answers in the other columns.
CREATE TABLE requests (
    id             INTEGER PRIMARY KEY,
    body           TEXT NOT NULL,
    -- By the Julian day: the sqlite3 program of a stable distribution may be too old for unixepoch('subsec').
    inserted_at_ms INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
    session_id     TEXT REFERENCES sessions (id) ON DELETE SET NULL,
    error          TEXT,
    taken_at_ms    INTEGER
);
CREATE INDEX requests_untaken ON requests (id) WHERE taken_at_ms IS NULL;

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
    CASE WHEN s.task_count > 0 THEN CAST(round(100.0 * s.completed_task_count / s.task_count) AS INTEGER) ELSE 0 END AS progress_pct,
    s.status = 'awaiting_human' AS human_input_required,
    strftime('%Y-%m-%dT%H:%M:%fZ', s.created_at_ms / 1000.0, 'unixepoch') AS created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', s.ended_at_ms / 1000.0, 'unixepoch') AS completed_at
FROM sessions s
ORDER BY s.created_at_ms DESC, s.id DESC;

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
ORDER BY t.session_id, t.task_order;

CREATE VIEW v_queue AS
SELECT
    t.id AS task_id,
    t.session_id,
    t.status,
    t.priority,
    t.agent,
    substr(s.objective, 1, 80) AS query_preview,
    strftime('%Y-%m-%dT%H:%M:%fZ', t.run_at_ms / 1000.0, 'unixepoch') AS run_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', t.parked_until_ms / 1000.0, 'unixepoch') AS parked_until,
    t.parked_reason,
    t.held,
    t.waits_for AS waits_for_workspace,
    t.claimed_by,
    strftime('%Y-%m-%dT%H:%M:%fZ', t.lease_until_ms / 1000.0, 'unixepoch') AS lease_until
FROM tasks t JOIN sessions s ON s.id = t.session_id
WHERE t.status IN ('pending', 'running', 'retrying', 'waiting_dependency')
ORDER BY t.status = 'running' DESC, t.priority DESC, t.run_at_ms, t.id;

CREATE VIEW v_costs AS
SELECT
    strftime('%Y-%m-%d', i.started_at_ms / 1000.0, 'unixepoch') AS day,
    s.agent,
    count(DISTINCT i.session_id) AS sessions,
    count(*) AS iterations,
    sum(i.cost_usd) AS cost_usd,
    sum(i.input_tokens) AS input_tokens,
    sum(i.output_tokens) AS output_tokens
FROM iterations i JOIN sessions s ON s.id = i.session_id
GROUP BY 1, 2
ORDER BY 1 DESC, 2;

CREATE VIEW v_awaiting_human AS
SELECT
    h.session_id,
    h.task_id,
    h.kind,
    h.question,
    h.options,
    h.error,
    substr(s.objective, 1, 80) AS query_preview,
    strftime('%Y-%m-%dT%H:%M:%fZ', h.asked_at_ms / 1000.0, 'unixepoch') AS asked_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', h.expires_at_ms / 1000.0, 'unixepoch') AS expires_at
FROM human_requests h JOIN sessions s ON s.id = h.session_id
WHERE h.status = 'waiting'
ORDER BY h.asked_at_ms;
