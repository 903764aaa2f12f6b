UPDATE tasks SET unmet_dependency_count = ?2, error_type = NULL, error_message = NULL WHERE id = ?1
