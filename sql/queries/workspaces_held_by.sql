SELECT path FROM workspaces WHERE holder_session_id = ?1
