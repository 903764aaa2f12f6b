INSERT INTO workspaces (path, holder_session_id, held_since_ms, created_at_ms, used_at_ms) VALUES (?1, ?2, ?3, ?3, ?3)
ON CONFLICT (path) DO UPDATE SET
    holder_session_id = excluded.holder_session_id,
    held_since_ms = CASE WHEN workspaces.holder_session_id = excluded.holder_session_id THEN workspaces.held_since_ms ELSE excluded.held_since_ms END,
    used_at_ms = excluded.used_at_ms
WHERE workspaces.holder_session_id IS NULL OR workspaces.holder_session_id = excluded.holder_session_id
