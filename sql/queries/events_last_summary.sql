SELECT type, data FROM events
WHERE session_id = ?1 AND task_id = ?2 AND type IN ('iteration.summarizing', 'iteration.summarized', 'iteration.not_summarized')
ORDER BY seq DESC LIMIT 1
