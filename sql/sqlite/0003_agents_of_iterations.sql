-- Which agent took each turn: while a limit shuts out the session's own, another may stand in. A null is the session's own.
ALTER TABLE iterations ADD COLUMN agent TEXT;

-- For the limits that are in force now.
CREATE INDEX iterations_limited ON iterations (reset_at_ms) WHERE reset_at_ms IS NOT NULL;

DROP VIEW v_costs;
CREATE VIEW v_costs AS
SELECT
    strftime('%Y-%m-%d', i.started_at_ms / 1000.0, 'unixepoch') AS day,
    coalesce(i.agent, s.agent) AS agent,
    count(DISTINCT i.session_id) AS sessions,
    count(*) AS iterations,
    sum(i.cost_usd) AS cost_usd,
    sum(i.input_tokens) AS input_tokens,
    sum(i.output_tokens) AS output_tokens
FROM iterations i JOIN sessions s ON s.id = i.session_id
GROUP BY 1, 2
ORDER BY 1 DESC, 2;
