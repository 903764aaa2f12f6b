-- ';' is the character after ':', which no name has.
SELECT id FROM sessions
WHERE "trigger" = 'cron' AND ended_at_ms IS NULL AND dedupe_key > 'cron:' || ?1 || ':' AND dedupe_key < 'cron:' || ?1 || ';'
ORDER BY id DESC
