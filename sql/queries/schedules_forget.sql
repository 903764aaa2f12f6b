UPDATE schedules SET definition = NULL WHERE name = ?1 AND definition IS NOT NULL
