-- Compare-and-set: the state it was decided upon must still be there. Time spent waiting is summed up on the way back.
UPDATE sessions SET
    status = ?3,
    came_from = ?4,
    started_at_ms = CASE WHEN ?3 = 'discovering' OR ?3 = 'planning' OR ?3 = 'executing' THEN coalesce(started_at_ms, ?5) ELSE started_at_ms END,
    waited_ms = waited_ms + CASE WHEN ?6 = 0 AND waiting_since_ms IS NOT NULL THEN max(0, ?5 - waiting_since_ms) ELSE 0 END,
    waiting_since_ms = CASE WHEN ?6 = 0 THEN NULL ELSE coalesce(waiting_since_ms, ?5) END,
    -- A wish that has not taken effect is not forgotten over a step that was not its own.
    control = CASE WHEN ?3 = 'paused' THEN NULL ELSE control END
WHERE id = ?1 AND status = ?2
