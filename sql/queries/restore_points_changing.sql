SELECT p.number FROM restore_points p JOIN restore_points b ON b.session_id = p.session_id AND b.number = p.after_number
WHERE p.session_id = ?1 AND p.commit_id <> b.commit_id
