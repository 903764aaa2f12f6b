//! The dashboard as people meet it: a real daemon, scripted agents, and Chromium playing the scenarios of `tests/browser`.

mod browser;
mod danger;
mod looks;
mod people;
mod places;
mod showcase;
mod wire;

/// Paints as it is let, asks for a colour in between, and leaves a handoff.
const PAINTER: &str = r#"mkdir -p state
lets() { until [ -e "$HERE/$1" ]; do sleep 0.02; done; }
if grep -q 'Answer: the blue one'; then
    echo 'painting it blue'
    lets dry
    touch painted
    echo 'The fence is blue.'; echo TASK_COMPLETE
else
    echo 'first coat'
    lets more
    echo 'second coat'
    lets ask
    echo '{"phase": "colours", "next_step": "paint it as told"}' >state/handoff.json
    echo '{"question": "Which pot of paint?", "options": ["the red one", "the blue one"]}' >state/question.json
fi"#;

/// Asks until it is told about the blue one.
const ASKS: &str = r#"if grep -q 'Answer: the blue one'; then echo painted; echo TASK_COMPLETE
else mkdir -p state
    echo '{"question": "Which pot of paint?", "options": ["the red one", "the blue one"]}' >state/question.json
    echo 'I have to ask.'
fi"#;

/// Works until it is ended.
const ENDLESS: &str = "echo 'at work'; until [ -e \"$HERE/never\" ]; do sleep 0.05; done";

const DONE: &str = "echo painted; echo TASK_COMPLETE";

/// Writes its number into a file of its own and a handoff, and is done at the third run of a session.
const COUNTER: &str = r#"n=$RALPHD_ITERATION
echo "by NAME" >"run$n.txt"
mkdir -p state && echo "{\"phase\": \"after $n\", \"next_step\": \"go on\", \"completed\": [\"run $n\"]}" >state/handoff.json
[ "$n" -lt 3 ] && echo "run $n" || { echo "done by NAME"; echo TASK_COMPLETE; }"#;

/// One call of a tool as Claude Code tells it, and its last words.
const TOOL_USER: &str = r#"printf '%s\n' \
    '{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}' \
    '{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"a.txt","is_error":false}]}}' \
    '{"type":"result","subtype":"success","is_error":false,"result":"There is a.txt.\nTASK_COMPLETE","total_cost_usd":0.5,"num_turns":1,"usage":{"input_tokens":100,"output_tokens":20}}'"#;

fn counter(name: &str) -> String {
    COUNTER.replace("NAME", name)
}

const SCHEDULES: &str = "[[schedules]]
name = 'nightly'
cron = '30 2 * * *'
timezone = 'America/New_York'
request = { objective = 'Sweep the yard.' }
[[schedules]]
name = 'monthly'
cron = '@monthly'
enabled = false
request = { objective = 'Count the spoons.' }
";
