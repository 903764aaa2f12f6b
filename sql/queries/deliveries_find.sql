-- What is older was kept only because nothing came since.
SELECT session_id FROM deliveries WHERE source = ?1 AND delivery_id = ?2 AND received_at_ms >= ?3
