-- For a list of three or more words SQLite builds a table in memory, on every write that checks it: half of what a write cost.
-- A chain of comparisons allows the same words and costs next to nothing. No row changes, so the stored text of the checks is
-- edited in place, as SQLite's documentation advises for such a change, instead of copying tables that may be large.
PRAGMA writable_schema = ON;

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (status IN (
        ''created'', ''discovering'', ''planning'', ''executing'', ''summarizing'', ''awaiting_human'', ''paused'', ''completed'', ''failed'', ''cancelled''))',
    'CHECK (status = ''created'' OR status = ''discovering'' OR status = ''planning'' OR status = ''executing''
       OR status = ''summarizing'' OR status = ''awaiting_human'' OR status = ''paused'' OR status = ''completed''
       OR status = ''failed'' OR status = ''cancelled'')')
WHERE name = 'sessions';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (control IN (''pause'', ''pause_now'', ''cancel''))',
    'CHECK (control = ''pause'' OR control = ''pause_now'' OR control = ''cancel'')')
WHERE name = 'sessions';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (end_reason IN (
        ''completed'', ''max_iterations'', ''budget_usd'', ''budget_tokens'', ''budget_wall'', ''budget_tool_calls'', ''stagnated'', ''doom_loop'',
        ''agent_failed'', ''plan_invalid'', ''task_failed'', ''poison'', ''human_timeout'', ''human_rejected'', ''cancelled''))',
    'CHECK (end_reason = ''completed'' OR end_reason = ''max_iterations'' OR end_reason = ''budget_usd''
       OR end_reason = ''budget_tokens'' OR end_reason = ''budget_wall'' OR end_reason = ''budget_tool_calls''
       OR end_reason = ''stagnated'' OR end_reason = ''doom_loop'' OR end_reason = ''agent_failed''
       OR end_reason = ''plan_invalid'' OR end_reason = ''task_failed'' OR end_reason = ''poison''
       OR end_reason = ''human_timeout'' OR end_reason = ''human_rejected'' OR end_reason = ''cancelled'')')
WHERE name = 'sessions';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK ("trigger" IN (''inbox'', ''cron'', ''webhook'', ''api'', ''cli'', ''sub_agent''))',
    'CHECK ("trigger" = ''inbox'' OR "trigger" = ''cron'' OR "trigger" = ''webhook'' OR "trigger" = ''api'' OR "trigger" = ''cli''
       OR "trigger" = ''sub_agent'')')
WHERE name = 'sessions';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (verified IN (''verified'', ''claimed'', ''tampered''))',
    'CHECK (verified = ''verified'' OR verified = ''claimed'' OR verified = ''tampered'')')
WHERE name = 'sessions';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (task_type IN (
        ''agent'', ''analysis'', ''sql_query'', ''sql_aggregate'', ''validation'', ''transform'', ''shell'', ''merge''))',
    'CHECK (task_type = ''agent'' OR task_type = ''analysis'' OR task_type = ''sql_query'' OR task_type = ''sql_aggregate''
       OR task_type = ''validation'' OR task_type = ''transform'' OR task_type = ''shell'' OR task_type = ''merge'')')
WHERE name = 'tasks';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (status IN (
        ''pending'', ''waiting_dependency'', ''running'', ''retrying'', ''completed'', ''failed'', ''skipped'', ''human_required'', ''blocked'', ''cancelled''))',
    'CHECK (status = ''pending'' OR status = ''waiting_dependency'' OR status = ''running'' OR status = ''retrying''
       OR status = ''completed'' OR status = ''failed'' OR status = ''skipped'' OR status = ''human_required''
       OR status = ''blocked'' OR status = ''cancelled'')')
WHERE name = 'tasks';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (verdict IN (
        ''promised'', ''unfinished'', ''empty'', ''rate_limited'', ''failed'', ''timed_out'', ''doom_loop'', ''cancelled'', ''lost''))',
    'CHECK (verdict = ''promised'' OR verdict = ''unfinished'' OR verdict = ''empty'' OR verdict = ''rate_limited''
       OR verdict = ''failed'' OR verdict = ''timed_out'' OR verdict = ''doom_loop'' OR verdict = ''cancelled''
       OR verdict = ''lost'')')
WHERE name = 'iterations';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (failure_class IN (
        ''auth'', ''configuration'', ''rate_limit'', ''usage_limit'', ''overloaded'', ''network'', ''context_overflow'', ''refusal'', ''crash'', ''out_of_memory'',
        ''timeout'', ''silence'', ''other''))',
    'CHECK (failure_class = ''auth'' OR failure_class = ''configuration'' OR failure_class = ''rate_limit''
       OR failure_class = ''usage_limit'' OR failure_class = ''overloaded'' OR failure_class = ''network''
       OR failure_class = ''context_overflow'' OR failure_class = ''refusal'' OR failure_class = ''crash''
       OR failure_class = ''out_of_memory'' OR failure_class = ''timeout'' OR failure_class = ''silence''
       OR failure_class = ''other'')')
WHERE name = 'iterations';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (status IN (''waiting'', ''answered'', ''approved'', ''rejected'', ''expired'', ''withdrawn''))',
    'CHECK (status = ''waiting'' OR status = ''answered'' OR status = ''approved'' OR status = ''rejected'' OR status = ''expired''
       OR status = ''withdrawn'')')
WHERE name = 'human_requests';

PRAGMA writable_schema = RESET;

-- Made anew only to let every open connection notice that the schema changed.
DROP INDEX tasks_later;
CREATE INDEX tasks_later ON tasks (run_at_ms) WHERE status = 'pending' AND due = 0;
