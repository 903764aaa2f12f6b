UPDATE schedules SET last_tick_ms = ?2, last_session_id = coalesce(?3, last_session_id) WHERE name = ?1
