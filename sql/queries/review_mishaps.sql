-- What did not come to be: ticks that were not started, requests that were refused, notices that nobody took.
SELECT * FROM events
WHERE seq >= ?1 AND at_ms >= ?2 AND at_ms <= ?3 AND (type IN ('request.rejected', 'schedule.dropped', 'notice.given_up')
    OR (type = 'schedule.ticked' AND json_extract(data, '$.outcome') <> 'started'))
ORDER BY seq DESC LIMIT ?4
