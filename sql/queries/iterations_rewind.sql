-- The iterations of one line are the past again, those of all others are rewound; the turns of roles are on every line.
UPDATE iterations SET rewound_at_ms = CASE WHEN number IN (SELECT value FROM json_each(?2)) THEN NULL ELSE coalesce(rewound_at_ms, ?3) END
WHERE session_id = ?1 AND number IN (SELECT number FROM restore_points WHERE session_id = ?1)
