-- Whoever waits for a workspace (a path) is told when it is free; whoever waited for room (a word) looks again, for it may be there by now.
UPDATE tasks SET
    waits_for = CASE WHEN waits_for LIKE '/%' THEN waits_for END,
    held = CASE WHEN waits_for LIKE '/%' THEN 1 ELSE 0 END
WHERE session_id = ?1
