SELECT coalesce(max(seq), 0) AS seq FROM events
