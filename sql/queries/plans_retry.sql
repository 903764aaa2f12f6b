UPDATE tasks SET retry_count = retry_count + 1, status = 'pending' WHERE id = ?1 AND status = 'retrying'
