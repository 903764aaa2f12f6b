UPDATE workspaces SET holder_session_id = NULL, held_since_ms = NULL, used_at_ms = ?2 WHERE path = ?1
