-- Newest first; ids of version 7 are in the order of their making. A null means every one.
SELECT * FROM sessions
WHERE (?1 IS NULL OR status = ?1)
    AND (?2 IS NULL OR id < ?2)
    AND (?4 IS NULL OR agent = ?4)
    AND (?5 IS NULL OR "trigger" = ?5)
    AND (?6 IS NULL OR created_at_ms >= ?6)
    AND (?7 IS NULL OR created_at_ms < ?7)
    AND (?8 IS NULL OR json_extract(request, '$.labels."' || ?8 || '"') = ?9)
    AND (?10 IS NULL OR instr(lower(objective), ?10) > 0 OR instr(id, ?10) > 0)
ORDER BY id DESC LIMIT ?3
