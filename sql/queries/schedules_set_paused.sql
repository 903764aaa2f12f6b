INSERT INTO schedules (name, paused) VALUES (?1, ?2)
ON CONFLICT (name) DO UPDATE SET paused = ?2, resumed_at_ms = coalesce(?3, resumed_at_ms) WHERE paused <> ?2
