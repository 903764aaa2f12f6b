UPDATE tasks SET death_count = 0 WHERE id = ?1 AND death_count > 0
