-- A notice may be about all sessions: the digest. Edited in place as in 0002, for the same reason: what is allowed becomes more.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql,
    'session_id      TEXT NOT NULL REFERENCES sessions', 'session_id      TEXT REFERENCES sessions'),
    'OR occasion = ''budget'')', 'OR occasion = ''budget'' OR occasion = ''digest'')')
WHERE name = 'notices';
PRAGMA writable_schema = RESET;
