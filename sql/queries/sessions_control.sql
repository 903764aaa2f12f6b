SELECT control FROM sessions WHERE id = ?1
