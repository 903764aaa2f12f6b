DROP INDEX IF EXISTS tasks_ready_of_agent
