-- Schedules, webhooks and the HTTP API as ways in; callbacks and notifications as a way out.

-- One row for each moment that a schedule came due, made with its session: the key is why a tick happens once.
CREATE TABLE ticks (
    schedule   TEXT NOT NULL,
    due_at_ms  INTEGER NOT NULL,
    outcome    TEXT NOT NULL CHECK (outcome = 'started' OR outcome = 'skipped' OR outcome = 'refused'),
    -- Why it was skipped or refused.
    detail     TEXT,
    session_id TEXT REFERENCES sessions (id) ON DELETE SET NULL,
    at_ms      INTEGER NOT NULL,
    PRIMARY KEY (schedule, due_at_ms)
) WITHOUT ROWID;
CREATE INDEX ticks_of_session ON ticks (session_id) WHERE session_id IS NOT NULL;
-- What the schedule was when it was last looked at: a changed one begins anew instead of catching up.
ALTER TABLE schedules ADD COLUMN definition TEXT;
-- Its ticks count from here on.
ALTER TABLE schedules ADD COLUMN since_ms INTEGER;
-- What came due before a pause ended was missed, however recent.
ALTER TABLE schedules ADD COLUMN resumed_at_ms INTEGER;
-- The open sessions of a schedule, by the beginning of their keys.
CREATE INDEX sessions_of_schedules ON sessions (dedupe_key) WHERE "trigger" = 'cron' AND ended_at_ms IS NULL;

-- One row for each key by which a delivery that became a session is known again. It outlives the session: what was sent once stays
-- sent. Nothing was written to the table before, so it is simply made anew.
DROP TABLE deliveries;
CREATE TABLE deliveries (
    -- The name of the hook.
    source         TEXT NOT NULL,
    -- id:…, what the sender calls it; body:…, the hash of what was signed; key:…, what the configuration makes of it.
    delivery_id    TEXT NOT NULL,
    session_id     TEXT REFERENCES sessions (id) ON DELETE SET NULL,
    received_at_ms INTEGER NOT NULL,
    PRIMARY KEY (source, delivery_id)
) WITHOUT ROWID;
CREATE INDEX deliveries_by_time ON deliveries (received_at_ms);
CREATE INDEX deliveries_of_session ON deliveries (session_id) WHERE session_id IS NOT NULL;

-- Who may use the HTTP API. Only a hash is kept of what they show.
CREATE TABLE tokens (
    id            TEXT PRIMARY KEY NOT NULL,
    name          TEXT NOT NULL,
    hash          TEXT NOT NULL UNIQUE,
    scopes        TEXT NOT NULL CHECK (json_valid(scopes)),
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    revoked_at_ms INTEGER
) WITHOUT ROWID;

-- What is to be told to somebody outside, until it was told or given up.
CREATE TABLE notices (
    id              TEXT PRIMARY KEY NOT NULL,
    session_id      TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    -- A name from [notify], or 'callback'.
    target          TEXT NOT NULL,
    -- Those of one lane share a receiver, so that a slow one holds up nobody else's.
    lane            TEXT NOT NULL,
    occasion        TEXT NOT NULL CHECK (occasion = 'ended' OR occasion = 'awaiting_human' OR occasion = 'parked' OR occasion = 'budget'),
    -- The event that it tells of.
    event_seq       INTEGER NOT NULL,
    body            TEXT NOT NULL CHECK (json_valid(body)),
    status          TEXT NOT NULL DEFAULT 'owed' CHECK (status = 'owed' OR status = 'delivered' OR status = 'given_up'),
    attempt_count   INTEGER NOT NULL DEFAULT 0,
    last_error      TEXT,
    next_at_ms      INTEGER NOT NULL,
    created_at_ms   INTEGER NOT NULL,
    settled_at_ms   INTEGER,
    UNIQUE (session_id, target, event_seq)
) WITHOUT ROWID;
CREATE INDEX notices_owed ON notices (lane, next_at_ms) WHERE status = 'owed';

-- Budgets of which two thirds are used: the key is why that is told once.
CREATE TABLE budget_marks (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    budget     TEXT NOT NULL CHECK (budget = 'usd' OR budget = 'tokens' OR budget = 'wall' OR budget = 'tool_calls'),
    at_ms      INTEGER NOT NULL,
    PRIMARY KEY (session_id, budget)
) WITHOUT ROWID;

-- How far the history was read by those who go through it once.
CREATE TABLE bookmarks (
    reader TEXT PRIMARY KEY NOT NULL,
    seq    INTEGER NOT NULL
) WITHOUT ROWID;
-- What happened before there were notices is old news.
INSERT INTO bookmarks (reader, seq) SELECT 'notices', coalesce(max(seq), 0) FROM events;
