SELECT handoff FROM iterations WHERE session_id = ?1 AND handoff IS NOT NULL AND number IN (SELECT value FROM json_each(?2))
ORDER BY number DESC LIMIT 1
