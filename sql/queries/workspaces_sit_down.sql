-- A turn that a dead claimant left running still has its agent in the workspace.
UPDATE workspaces SET agent_task_id = ?2 WHERE path = ?1 AND (agent_task_id IS NULL OR agent_task_id = ?2 OR NOT EXISTS (
    SELECT 1 FROM tasks t WHERE t.id = workspaces.agent_task_id AND (t.status = 'running' OR EXISTS (
        SELECT 1 FROM iterations i WHERE i.session_id = t.session_id AND i.task_id = t.id AND i.ended_at_ms IS NULL))))
