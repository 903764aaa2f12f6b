SELECT min(expires_at_ms) AS at_ms FROM human_requests WHERE status = 'waiting'
