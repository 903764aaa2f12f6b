UPDATE iterations SET git_commit = ?2 WHERE id = ?1
