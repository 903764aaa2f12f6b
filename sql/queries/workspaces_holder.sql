SELECT holder_session_id, held_since_ms FROM workspaces WHERE path = ?1
