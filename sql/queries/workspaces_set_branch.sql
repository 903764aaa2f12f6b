UPDATE workspaces SET branch = ?2 WHERE path = ?1
