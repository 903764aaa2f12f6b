-- Ended workers are kept for a look back, not for ever.
DELETE FROM workers WHERE heartbeat_at_ms < ?1 AND id NOT IN (SELECT claimed_by FROM tasks WHERE status = 'running')
