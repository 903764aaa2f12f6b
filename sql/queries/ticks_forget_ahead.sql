-- A clock that was ahead had these as missed; what it started is not started again.
DELETE FROM ticks WHERE schedule = ?1 AND due_at_ms > ?2 AND outcome <> 'started'
