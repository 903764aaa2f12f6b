-- What each reply of a model used, for agents that tell of their steps.
CREATE TABLE steps (
    iteration_id         TEXT NOT NULL REFERENCES iterations (id) ON DELETE CASCADE,
    number               INTEGER NOT NULL CHECK (number >= 1),
    session_id           TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    model                TEXT,
    input_tokens         INTEGER NOT NULL,
    cached_tokens        INTEGER NOT NULL,
    cache_written_tokens INTEGER NOT NULL,
    output_tokens        INTEGER NOT NULL,
    cost_usd             REAL,
    at_ms                INTEGER NOT NULL,
    PRIMARY KEY (iteration_id, number)
) WITHOUT ROWID;
CREATE INDEX steps_of_session ON steps (session_id);
