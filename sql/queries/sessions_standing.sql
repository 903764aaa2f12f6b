SELECT status, came_from, waiting_since_ms FROM sessions WHERE id = ?1
