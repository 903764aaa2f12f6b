DELETE FROM workspaces WHERE path = ?1 AND holder_session_id IS NULL
