SELECT h.session_id, h.id AS question_id, h.kind, h.question, h.options, h.asked_at_ms, h.expires_at_ms, substr(s.objective, 1, 400) AS objective
FROM human_requests h JOIN sessions s ON s.id = h.session_id
WHERE h.status = 'waiting' ORDER BY h.expires_at_ms LIMIT ?1
