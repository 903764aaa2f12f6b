-- Each count goes by an index of its own.
SELECT ready.count AS ready, ready.oldest_ms, later.count AS later, parked.count AS parked, running.count AS running, waiting.count AS waiting,
    asked.count AS asked, asked.oldest_ms AS asked_since_ms, owed.count AS owed, owed.oldest_ms AS owed_since_ms
FROM
    (SELECT count(*) AS count, min(run_at_ms) AS oldest_ms FROM tasks WHERE status = 'pending' AND held = 0 AND due = 1) AS ready,
    (SELECT count(*) AS count FROM tasks WHERE status = 'pending' AND due = 0) AS later,
    (SELECT count(*) AS count FROM tasks WHERE status = 'pending' AND due = 0 AND parked_until_ms IS NOT NULL) AS parked,
    (SELECT count(*) AS count FROM tasks WHERE status = 'running') AS running,
    (SELECT count(*) AS count FROM tasks WHERE waits_for IS NOT NULL) AS waiting,
    (SELECT count(*) AS count, min(asked_at_ms) AS oldest_ms FROM human_requests WHERE status = 'waiting') AS asked,
    (SELECT count(*) AS count, min(created_at_ms) AS oldest_ms FROM notices WHERE status = 'owed') AS owed
