SELECT id FROM sessions WHERE dedupe_key = ?1
