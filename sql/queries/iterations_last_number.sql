SELECT max(number) AS number FROM iterations WHERE session_id = ?1
