INSERT INTO deliveries (source, delivery_id, session_id, received_at_ms) VALUES (?1, ?2, ?3, ?4)
