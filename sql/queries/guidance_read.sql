UPDATE guidance SET read_iteration_id = ?2 WHERE id = ?1 AND read_iteration_id IS NULL
