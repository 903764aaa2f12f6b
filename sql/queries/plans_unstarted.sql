SELECT id, status FROM tasks WHERE session_id = ?1 AND task_type <> 'plan'
  AND (status = 'pending' OR status = 'waiting_dependency' OR status = 'retrying' OR status = 'human_required' OR status = 'blocked')
