DELETE FROM deliveries WHERE (source, delivery_id) IN (
    SELECT source, delivery_id FROM deliveries WHERE received_at_ms < ?1 ORDER BY received_at_ms LIMIT ?2
)
