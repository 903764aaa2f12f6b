INSERT INTO deliveries (source, delivery_id, session_id, received_at_ms) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (source, delivery_id) DO UPDATE SET session_id = excluded.session_id, received_at_ms = excluded.received_at_ms
