SELECT id, control FROM sessions WHERE control IS NOT NULL
