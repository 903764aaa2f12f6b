-- Tasks whose gate was rejected and which nobody is asked about now.
SELECT t.id FROM tasks t WHERE t.session_id = ?1 AND t.status = 'human_required'
  AND NOT EXISTS (SELECT 1 FROM human_requests h WHERE h.session_id = ?1 AND h.task_id = t.id AND h.status = 'waiting')
