-- The steps of sessions: from where to where, and how often.
SELECT json_extract(data, '$.from') AS from_state, substr(type, 9) AS to_state, count(*) AS count
FROM events WHERE seq > ?1 AND seq <= ?2 AND type >= 'session.' AND type < 'session/' AND type <> 'session.control'
GROUP BY 1, 2
