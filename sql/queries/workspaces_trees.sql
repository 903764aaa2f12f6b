SELECT * FROM workspaces WHERE main_path = ?1 ORDER BY path
