SELECT id, body, length(CAST(body AS BLOB)) AS bytes FROM requests WHERE taken_at_ms IS NULL ORDER BY id LIMIT ?1
