-- What was put aside until a time is looked at again, and put aside once more where that time has yet to come.
UPDATE tasks SET due = 1, run_at_ms = CASE WHEN run_at_ms < ?1 THEN run_at_ms ELSE ?1 END
WHERE status = 'pending' AND due = 0 AND parked_until_ms IS NOT NULL
