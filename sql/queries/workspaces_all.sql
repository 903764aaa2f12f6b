SELECT w.*, s.status AS holder_status,
    (SELECT count(*) FROM sessions o WHERE o.workspace = w.path AND o.ended_at_ms IS NULL) AS open_count,
    (SELECT max(l.id) FROM sessions l WHERE l.workspace = w.path) AS last_session_id
FROM workspaces w LEFT JOIN sessions s ON s.id = w.holder_session_id ORDER BY w.path
