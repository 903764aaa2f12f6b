-- The newest one stays: its number must not be given out again, for readers remember how far they were.
DELETE FROM events WHERE session_id = ?1 AND seq < (SELECT max(seq) FROM events)
