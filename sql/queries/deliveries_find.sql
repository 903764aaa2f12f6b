SELECT session_id FROM deliveries WHERE source = ?1 AND delivery_id = ?2
