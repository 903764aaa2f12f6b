-- For the claim by agent, and only where an agent has a cap of its own: others need not pay for it at every write.
CREATE INDEX IF NOT EXISTS tasks_ready_of_agent ON tasks (agent, priority DESC, run_at_ms, id) WHERE status = 'pending' AND held = 0 AND due = 1
