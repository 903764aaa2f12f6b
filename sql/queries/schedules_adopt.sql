INSERT INTO schedules (name, definition, since_ms) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET definition = ?2, since_ms = ?3, resumed_at_ms = NULL WHERE definition IS NOT ?2
