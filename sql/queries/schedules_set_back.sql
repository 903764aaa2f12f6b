UPDATE schedules SET since_ms = ?2, resumed_at_ms = NULL,
    last_tick_ms = (SELECT max(due_at_ms) FROM ticks WHERE schedule = ?1 AND due_at_ms <= ?2)
WHERE name = ?1
