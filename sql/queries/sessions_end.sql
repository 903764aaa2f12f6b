-- Compare-and-set like every step, with all that is known at the end in the same write.
UPDATE sessions SET
    status = ?3,
    came_from = NULL,
    control = NULL,
    waited_ms = waited_ms + CASE WHEN waiting_since_ms IS NOT NULL THEN max(0, ?4 - waiting_since_ms) ELSE 0 END,
    waiting_since_ms = NULL,
    ended_at_ms = ?4,
    end_reason = ?5,
    end_detail = ?6,
    final_answer = ?7,
    verified = ?8,
    completed_task_count = completed_task_count + ?9,
    failed_task_count = failed_task_count + ?10,
    human_context = NULL
WHERE id = ?1 AND status = ?2
