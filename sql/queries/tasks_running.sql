SELECT t.id, t.session_id, t.claimed_by, t.claim_number, t.lease_until_ms, t.death_count,
    (SELECT i.id FROM iterations i WHERE i.session_id = t.session_id AND i.task_id = t.id AND i.ended_at_ms IS NULL ORDER BY i.number DESC LIMIT 1) AS iteration_id
FROM tasks t WHERE t.status = 'running'
