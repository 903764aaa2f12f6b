-- From one lane to the next by the index, however much each of them owes.
WITH RECURSIVE lanes (lane) AS (
    SELECT min(lane) FROM notices WHERE status = 'owed'
    UNION ALL
    SELECT (SELECT min(n.lane) FROM notices n WHERE n.status = 'owed' AND n.lane > lanes.lane) FROM lanes WHERE lanes.lane IS NOT NULL)
SELECT lane, (SELECT min(n.next_at_ms) FROM notices n WHERE n.status = 'owed' AND n.lane = lanes.lane) AS next_at_ms
FROM lanes WHERE lane IS NOT NULL ORDER BY next_at_ms
