UPDATE workspaces SET holder_session_id = NULL, held_since_ms = NULL, used_at_ms = ?2 WHERE holder_session_id = ?1 RETURNING path
