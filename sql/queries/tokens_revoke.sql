UPDATE tokens SET revoked_at_ms = ?2 WHERE (name = ?1 OR id = ?1) AND revoked_at_ms IS NULL
