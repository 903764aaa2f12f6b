-- Work on repositories: what a workspace is made from, trees of tasks beside it, and points to go back to.

-- The branch that is worked on in it; a tree of a task has the workspace that it belongs to, and its task.
ALTER TABLE workspaces ADD COLUMN branch TEXT;
ALTER TABLE workspaces ADD COLUMN main_path TEXT;
ALTER TABLE workspaces ADD COLUMN task_id TEXT;
-- The session after whose end something is left to do here: a tree to take away, a lock in a user's own checkout to open.
ALTER TABLE workspaces ADD COLUMN untidy_session_id TEXT REFERENCES sessions (id) ON DELETE SET NULL;
CREATE INDEX workspaces_untidy ON workspaces (untidy_session_id) WHERE untidy_session_id IS NOT NULL;
CREATE INDEX workspaces_of_main ON workspaces (main_path) WHERE main_path IS NOT NULL;

-- The state of a session after each iteration; number 0 is before the first.
CREATE TABLE restore_points (
    session_id      TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    number          INTEGER NOT NULL,
    task_id         TEXT,
    -- The point that it came after: what was rewound is on another line.
    after_number    INTEGER,
    -- Where the commit is: in the workspace's own repository, or in the one beside a plain directory.
    ground          TEXT NOT NULL CHECK (ground = 'own' OR ground = 'shadow'),
    -- The directory whose files it holds.
    place           TEXT NOT NULL,
    branch          TEXT,
    commit_id       TEXT NOT NULL,
    -- What changed since the point before: {files, added, removed, commits, …}.
    facts           TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(facts)),
    -- What people and the next iteration should know of it.
    remarks         TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(remarks)),
    iteration_count INTEGER NOT NULL,
    -- The states of a plan's tasks by their order.
    plan            TEXT CHECK (plan IS NULL OR json_valid(plan)),
    at_ms           INTEGER NOT NULL,
    PRIMARY KEY (session_id, number)
) WITHOUT ROWID;

-- When the session was taken back to a point before it: it happened, but the loop does not go on from it.
ALTER TABLE iterations ADD COLUMN rewound_at_ms INTEGER;

-- The point of another session that this one starts from: {session, number}.
ALTER TABLE sessions ADD COLUMN fork TEXT CHECK (fork IS NULL OR json_valid(fork));
