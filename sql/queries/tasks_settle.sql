-- Fenced: whoever lost the lease cannot settle its successor's run.
UPDATE tasks SET
    status = ?4, result = ?5, result_summary = ?6, error_type = ?7, error_message = ?8, ended_at_ms = ?9,
    claimed_by = NULL, lease_until_ms = NULL
WHERE id = ?1 AND status = 'running' AND claimed_by = ?2 AND claim_number = ?3
