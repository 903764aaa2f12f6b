SELECT * FROM workspaces WHERE path = ?1
