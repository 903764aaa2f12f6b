INSERT INTO tokens (id, name, hash, scopes, created_at_ms, expires_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
