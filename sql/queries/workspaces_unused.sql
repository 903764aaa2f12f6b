-- Below a directory, given as the range of paths in it: what no session works in or has worked in. A continued session has its workspace from another.
SELECT path FROM workspaces WHERE path >= ?1 AND path < ?2 AND holder_session_id IS NULL
  AND path NOT IN (SELECT workspace FROM sessions)
