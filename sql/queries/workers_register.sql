INSERT INTO workers (id, role, pid, pid_started, boot_id, host, version, started_at_ms, heartbeat_at_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
