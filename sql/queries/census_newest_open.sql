-- Of the newest open sessions alone: a long queue is not walked through to be told that it is long.
SELECT status, count(*) AS count FROM (SELECT status FROM sessions WHERE ended_at_ms IS NULL ORDER BY id DESC LIMIT ?1) GROUP BY status
