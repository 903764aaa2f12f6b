-- Newest first; ids of version 7 are in the order of their making. A null status means every one.
SELECT * FROM sessions
WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR id < ?2)
ORDER BY id DESC LIMIT ?3
