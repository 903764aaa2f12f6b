INSERT INTO budget_marks (session_id, budget, at_ms) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
