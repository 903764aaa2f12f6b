UPDATE workspaces SET untidy_session_id = ?2 WHERE path = ?1
