UPDATE sessions SET end_reason = ?2, end_detail = ?3, ended_at_ms = ?4, human_context = NULL WHERE id = ?1 RETURNING verified
