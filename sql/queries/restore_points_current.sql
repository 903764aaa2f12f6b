SELECT p.* FROM restore_points p LEFT JOIN iterations i ON i.session_id = p.session_id AND i.number = p.number
WHERE p.session_id = ?1 AND i.rewound_at_ms IS NULL ORDER BY p.number DESC LIMIT 1
