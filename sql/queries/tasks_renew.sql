UPDATE tasks SET lease_until_ms = ?4 WHERE id = ?1 AND status = 'running' AND claimed_by = ?2 AND claim_number = ?3
