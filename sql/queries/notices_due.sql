SELECT n.*, json_extract(s.request, '$.callback_url') AS callback_url
FROM notices n LEFT JOIN sessions s ON s.id = n.session_id
WHERE n.status = 'owed' AND n.lane = ?1 AND n.next_at_ms <= ?2 ORDER BY n.next_at_ms LIMIT ?3
