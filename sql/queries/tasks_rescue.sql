UPDATE tasks SET status = ?4, death_count = death_count + ?5, ended_at_ms = ?6, error_type = ?7, error_message = ?8,
    claimed_by = NULL, lease_until_ms = NULL
WHERE id = ?1 AND status = 'running' AND claimed_by = ?2 AND claim_number = ?3
RETURNING session_id, death_count
