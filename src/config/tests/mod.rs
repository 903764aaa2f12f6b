//! Configurations as users write them, right and wrong.

mod hooks;
mod places;
mod schedules;

use std::path::Path;

use super::*;

const FILE: &str = "/etc/ralphd/ralphd.toml";

fn read(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let environment = variables.iter().copied().collect();
    Config::from_text(text, Some(Path::new(FILE)), &environment)
}

#[test]
fn the_schema_is_wholly_understood() {
    crate::model::document::shape::tests::assert_checkable(&schema());
}

#[test]
fn problems_name_file_line_key_and_remedy() {
    for (text, expected) in [
        (
            "[queue]\nmax_paralel = 5",
            "2: queue.max_paralel: unknown key; did you mean max_parallel?",
        ),
        (
            "\n[queu]\nlease = '1m'",
            "2: queu: unknown key; did you mean queue?",
        ),
        (
            "[queue]\nmax_parallel = 0",
            "2: queue.max_parallel: must be between 1 and 256, is 0",
        ),
        (
            "[queue]\nmax_parallel = '5'",
            "2: queue.max_parallel: must be a whole number, is text \"5\"; write it without quotes",
        ),
        (
            "queue = 5",
            "1: queue: must be a table of keys, is the number 5",
        ),
        (
            "[queue]\nlease = 30",
            "2: queue.lease: must be a duration such as 90s, 30m, 8h or 7d, is the number 30",
        ),
        (
            "[queue]\nlease = '30'",
            "2: queue.lease: \"30\" has no unit; write whole numbers with a unit of ms, s, m, h or d, such as 90s or 1h30m",
        ),
        (
            "[queue]\n\nheartbeat = '20s'",
            "3: queue.heartbeat: must be at most half of lease (30s), is 20s",
        ),
        (
            "[queue]\nlease = '5s'",
            "2: queue.lease: must be at least twice heartbeat (10s), is 5s",
        ),
        (
            "[log]\nlevel = 'loud'",
            "2: log.level: must be \"error\" or \"warn\" or \"info\" or \"debug\" or \"trace\", is \"loud\"",
        ),
        (
            "[colour]",
            "1: colour: unknown key; known: state, defaults, planner, roles, inbox, inboxes, schedules, queue, budget, prices, workspaces, git, process, secrets, prompts, workflows, http, callbacks, notify, digest, events, log, agents, hooks",
        ),
        (
            "[agents.a]\nkind = 'built-in'\ncommand = ['x']",
            "2: agents.a.kind: must be \"command\" or \"builtin\", is \"built-in\"",
        ),
        (
            "[agents.a]\nkind = 'builtin'",
            "1: agents.a.provider: is missing: anthropic, openai (also for local servers, with base_url) or recorded",
        ),
        (
            "[agents.a]\nkind = 'builtin'\nprovider = 'openai'",
            "1: agents.a.model: is missing: name the model that shall answer",
        ),
        (
            "[agents.a]\nkind = 'builtin'\nprovider = 'recorded'",
            "1: agents.a.cassette: is missing: name the file that 'ralphd run … --record FILE' made",
        ),
        (
            "[agents.a]\nkind = 'builtin'\nprovider = 'openai'\nmodel = 'x'\ncommand = ['y']",
            "5: agents.a.command: is for agents that are programs; a built-in agent needs none of it",
        ),
        (
            "[agents.a]\ncommand = ['x']\nmax_steps = 3",
            "3: agents.a.max_steps: is for built-in agents only; set kind = \"builtin\", or leave it out",
        ),
        (
            "[agents.a]\nkind = 'builtin'\nprovider = 'openai'\nmodel = 'x'\nbase_url = 'http://me:pass@host/'",
            "5: agents.a.base_url: must not hold a name, a password or a query; give the key by api_key_env or api_key_file",
        ),
        (
            "[agents.a]\nkind = 'builtin'\nprovider = 'openai'\nmodel = 'x'\ntools = ['reed']",
            "5: agents.a.tools[0]: must be \"read\" or \"write\" or \"edit\" or \"bash\" or \"glob\" or \"grep\" or \"git_status\" or \"git_diff\" or \"git_log\" or \"ask_human\" or \"spawn_agent\", is \"reed\"",
        ),
        (
            "[agents.a]\nkind = 'command'",
            "1: agents.a.command: is missing: name a program, or a known tool by preset",
        ),
        (
            "[agents.a]\ncommand = []",
            "2: agents.a.command: is missing: name a program, or a known tool by preset",
        ),
        (
            "[agents.a]\ncommand = [' ']",
            "2: agents.a.command: must begin with the name of a program, is blank",
        ),
        (
            "[agents.a]\ncommand = ['x']\ncost_per_iteration = nan",
            "3: agents.a.cost_per_iteration: must be more than 0 and at most 1000000, is NaN",
        ),
        (
            "[agents.a]\ncommand = ['x']\nlimits = { open_filez = 3 }",
            "3: agents.a.limits.open_filez: unknown key; did you mean open_files?",
        ),
        (
            "[agents.a]\ncommand = ['x']\napi_key_file = 'x'",
            "3: agents.a.api_key_env: is missing: name the variable in which the agent looks for its key",
        ),
        (
            "[agents.a]\npreset = 'opencode'\napi_key_file = 'x'",
            "3: agents.a.api_key_env: is missing: name the variable in which the agent looks for its key",
        ),
        (
            "[agents.a]\ncommand = ['x']\napi_key_env = 'A B'",
            "3: agents.a.api_key_env: must be the name of an environment variable (letters, digits and '_', no value), is \"A B\"",
        ),
        (
            "[agents.rehearsal]\ncommand = ['x']",
            "1: agents.rehearsal: is the name of the built-in agent; choose another name",
        ),
        (
            "[agents.'a/b']\ncommand = ['x']",
            "1: agents.a/b: must be a name of letters, digits, '.', '_' and '-' that starts with a letter, a digit or '_', is \"a/b\"",
        ),
        (
            "[defaults]\nagent = 'writr'\n[agents.writer]\ncommand = ['x']",
            "2: defaults.agent: there is no agent writr, only writer; did you mean writer?",
        ),
        (
            "[defaults]\nsummarizer = 'writr'\n[agents.writer]\ncommand = ['x']",
            "2: defaults.summarizer: there is no agent writr, only writer; did you mean writer?",
        ),
        (
            "[roles]\nplanner = 'writer'\nerror_analyzer = 'writr'\n[agents.writer]\ncommand = ['x']",
            "3: roles.error_analyzer: there is no agent writr, only writer; did you mean writer?",
        ),
        (
            "[roles]\nplaner = 'x'",
            "2: roles.planer: unknown key; did you mean planner?",
        ),
        (
            "[roles]\ntimeout = '0s'",
            "2: roles.timeout: must be more than 0s, is \"0s\"",
        ),
        (
            "[planner]\nmax_tasks = 0",
            "2: planner.max_tasks: must be between 1 and 10000, is 0",
        ),
        (
            "[defaults]\nmax_retries = 11",
            "2: defaults.max_retries: must be between 0 and 10, is 11",
        ),
        (
            "[defaults]\nmax_depth = -1",
            "2: defaults.max_depth: must be between 0 and 10, is -1",
        ),
        (
            "[[inboxes]]\npath = 'a'\n[inboxes.defaults]\nmax_iteration = 3",
            "4: inboxes[0].defaults.max_iteration: unknown key; did you mean max_iterations?",
        ),
        (
            "[[inboxes]]\npath = 'a'\ndefaults = { objective = 'x', autonomy = 3 }",
            "3: inboxes[0].defaults.objective: unknown key; known: agent, max_iterations, completion_promise, promise_match, verify, protect, budget, plan, inputs, autonomy, workspace, datasets, priority, not_before, labels, notify, callback_url, iteration_timeout, silence_timeout, stagnation_threshold, human_timeout, max_parallel, env, idempotency_key",
        ),
        ("[[inboxes]]\ndefaults = {}", "1: inboxes[0].path: missing"),
        (
            "[prices.'x/y']\ninput = 1\noutput = -1",
            "3: prices.x/y.output: must be between 0 and 1000000, is -1",
        ),
        ("[prices.x]\ninput = 1", "1: prices.x.output: missing"),
        (
            "[agents.a]\npreset = 'cn'\nmodel = 'x'",
            "3: agents.a.model: cn takes no model on its command line; set it in the tool's own configuration",
        ),
        (
            "[agents.writer]\npreset = 'claude'\nfallback = 'coder'\n[agents.codr]\ncommand = ['x']",
            "3: agents.writer.fallback: there is no agent coder, only writer, codr; did you mean codr?",
        ),
        (
            "[agents.writer]\npreset = 'claude'\nfallback = ['codex']",
            "3: agents.writer.fallback: there is no agent codex, only writer; add [agents.codex] with preset = \"codex\"",
        ),
        (
            "[agents.a]\ncommand = ['a']\nfallback = ['b']\n[agents.b]\ncommand = ['b']\nfallback = 'a'",
            "3: agents.a.fallback: goes round in a circle: a → b → a",
        ),
        (
            "[agents.a]\ncommand = ['a']\nfallback = 'a'",
            "3: agents.a.fallback: goes round in a circle: a → a",
        ),
        (
            "[agents.a]\ncommand = ['a']\nfallback = 5",
            "3: agents.a.fallback: must be a list, is the number 5",
        ),
        (
            "[agents.a]\npreset = 'codex'\nmodel = '-x'",
            "3: agents.a.model: must not start with '-', is \"-x\"",
        ),
        (
            "[[inboxes]]\npath = 'a'\n[[inboxes]]\npath = './a'",
            "4: inboxes[1].path: /etc/ralphd/a is an inbox already",
        ),
        (
            "[[inboxes]]\npath = ' '",
            "2: inboxes[0].path: must not be blank",
        ),
        (
            "[notify.a]\nkind = 'mail'",
            "2: notify.a.kind: must be \"webhook\" or \"ntfy\" or \"slack\" or \"exec\", is \"mail\"",
        ),
        (
            "[notify.a]\nkind = 'slack'",
            "1: notify.a.url: is missing: give the address, or by url_env the variable that holds it",
        ),
        (
            "[notify.a]\nkind = 'exec'",
            "1: notify.a.command: is missing: name a program",
        ),
        (
            "[notify.a]\nkind = 'exec'\ncommand = ['x']\nsecret_env = 'X_SECRET'",
            "4: notify.a.secret_env: is for webhook only; exec has no use for it",
        ),
        (
            "[notify.a]\nkind = 'webhook'\nurl = 'https://a.example/'\ncommand = ['x']",
            "4: notify.a.command: is for exec only; webhook has no use for it",
        ),
        (
            "[notify.a]\nkind = 'webhook'\nurl = 'http://10.1.2.3/x'",
            "3: notify.a.url: 10.1.2.3 is a private address; set allow_private = true if that is meant",
        ),
        (
            "[notify.a]\nkind = 'webhook'\nurl = 'http://me:word@a.example/'",
            "3: notify.a.url: must not hold a name or a password",
        ),
        (
            "[notify.a]\nkind = 'ntfy'\nurl = 'https://ntfy.sh/'",
            "3: notify.a.url: must end with a topic, as https://ntfy.sh/my-topic",
        ),
        (
            "[notify.a]\nkind = 'webhook'\nurl = 'https://a.example/'\nurl_env = 'URL'",
            "4: notify.a.url_env: url is given too; one of them is enough",
        ),
        (
            "[notify.a]\nkind = 'webhook'\nurl = 'https://a.example/'\non = ['end']",
            "4: notify.a.on[0]: must be \"ended\" or \"awaiting_human\" or \"parked\" or \"budget\", is \"end\"",
        ),
        (
            "[notify.callback]\nkind = 'webhook'\nurl = 'https://a.example/'",
            "1: notify.callback: is what the callback_url of a request is called; choose another name",
        ),
        (
            "[callbacks]\nsecret_env = 'A'\nsecret_file = '/b'",
            "3: callbacks.secret_file: secret_env is given too; one of them is enough",
        ),
        (
            "[defaults]\nnotify = ['opss']\n[notify.ops]\nkind = 'exec'\ncommand = ['x']",
            "2: defaults.notify: there is no [notify.opss], only ops; did you mean ops?",
        ),
        (
            "[[inboxes]]\npath = 'a'\ndefaults = { notify = ['ops'] }",
            "3: inboxes[0].defaults.notify: there is no [notify.ops] in the configuration, nor any other",
        ),
        (
            "state = '~/x'",
            "1: state: begins with ~/ but HOME is not set",
        ),
        (
            "[queue]\nlease = '1m'\nlease = '2m'",
            "3:1: not valid TOML: duplicate key",
        ),
        (
            "a = \n[b",
            "1:5: not valid TOML: string values must be quoted, expected literal string",
        ),
    ] {
        let error = read(text, &[]).unwrap_err().to_string();
        let first = error.lines().next().unwrap();
        assert_eq!(first, format!("{FILE}:{expected}"), "{text}");
    }
}

#[test]
fn all_problems_come_at_once_in_the_order_of_the_file() {
    let text = "[queue]\nmax_paralel = 1\nheartbeat = '29s'\n[log]\nformat = 'xml'\n[agents.a]\nprompt = 3\n[defaults]\nagent = 'b'\n";
    let error = read(text, &[("RALPHD_INBOX__MAX_BYTES", "many")]).unwrap_err();
    let origins: Vec<_> = error
        .problems
        .iter()
        .map(|problem| problem.origin.clone().unwrap())
        .collect();
    let line = |number: usize| format!("{FILE}:{number}");
    let expected = [
        line(2),
        line(3),
        line(5),
        line(6),
        line(7),
        line(9),
        "RALPHD_INBOX__MAX_BYTES".to_owned(),
    ];
    assert_eq!(origins, expected, "{error}");
}

#[test]
fn the_environment_wins_over_the_file() {
    let text = "[queue]\nmax_parallel = 2\n[agents.writer]\ncommand = ['old']\n";
    let variables = [
        ("RALPHD_QUEUE__MAX_PARALLEL", "8"),
        ("RALPHD_QUEUE__LEASE", "1m"),
        ("RALPHD_DEFAULTS__COMPLETION_PROMISE", "42"),
        ("RALPHD_DEFAULTS__AGENT", "\"writer\""),
        ("RALPHD_PROCESS__ENV", "HTTP_PROXY, NO_PROXY"),
        ("RALPHD_AGENTS__WRITER__COMMAND", "[\"new\", \"a,b\"]"),
        ("RALPHD_AGENTS__WRITER__LIMITS", "{ open_files = 9 }"),
        ("RALPHD_AGENTS__OTHER__COMMAND", "run"),
        ("RALPHD_AGENTS__OTHER__COST_PER_ITERATION", "1"),
        ("RALPHD_PROMPTS__DIR", "/p"),
        ("RALPHD_SESSION_ID", "no key"),
        ("OTHER__KEY", "no key"),
    ];
    let config = read(text, &variables).unwrap();
    assert_eq!(config.queue.max_parallel, 8);
    assert_eq!(config.queue.lease, Period::from_mins(1));
    assert_eq!(config.defaults.completion_promise, "42");
    assert_eq!(config.defaults.agent.as_deref(), Some("writer"));
    assert_eq!(config.process.env, ["HTTP_PROXY", "NO_PROXY"]);
    assert_eq!(config.agents["writer"].command, ["new", "a,b"]);
    assert_eq!(config.agents["writer"].limits.open_files, Some(9));
    assert_eq!(config.agents["other"].command, ["run"]);
    assert_eq!(config.agents["other"].cost_per_iteration, Some(1.0));
    assert_eq!(config.prompts.dir.as_deref(), Some(Path::new("/p")));
}

#[test]
fn a_wrong_variable_is_named() {
    for (name, value, expected) in [
        (
            "RALPHD_QUEUE__MAX_PARALEL",
            "8",
            "queue.max_paralel: unknown key; did you mean max_parallel?",
        ),
        (
            "RALPHD_QUEU__LEASE",
            "8s",
            "queu: unknown key; did you mean queue?",
        ),
        (
            "RALPHD_QUEUE__MAX_PARALLEL",
            "many",
            "queue.max_parallel: must be a whole number, is text \"many\"",
        ),
        (
            "RALPHD_QUEUE__MAX_PARALLEL",
            "0",
            "queue.max_parallel: must be between 1 and 256, is 0",
        ),
        (
            "RALPHD_QUEUE__LEASE__X",
            "1s",
            "queue.lease: must be a duration such as 90s, 30m, 8h or 7d, is a table of keys",
        ),
        (
            "RALPHD_QUEUE__LEASE",
            "5s",
            "queue.lease: must be at least twice heartbeat (10s), is 5s",
        ),
        (
            "RALPHD_INBOXES__PATH",
            "/x",
            "inboxes: must be a list, is a table of keys",
        ),
    ] {
        let error = read("", &[(name, value)]).unwrap_err().to_string();
        assert_eq!(error, format!("{name}: {expected}"));
    }
    let error = read("[[inboxes]]\npath = 'a'", &[("RALPHD_INBOXES__PATH", "/x")]).unwrap_err();
    let expected =
        "inboxes.path: cannot be set by the environment: it is not inside a table of keys";
    assert_eq!(
        error.to_string(),
        format!("RALPHD_INBOXES__PATH: {expected}")
    );
}

#[test]
fn agents_that_can_be_discovered_need_no_configuration() {
    let agents = "[agents.writer]\ncommand = ['x']\n";
    for (text, accepted) in [
        ("[defaults]\nagent = 'anything'", true),
        (&format!("{agents}[defaults]\nagent = 'writer'"), true),
        (&format!("{agents}[defaults]\nagent = 'claude'"), true),
        (&format!("{agents}[defaults]\nagent = 'rehearsal'"), true),
        (&format!("{agents}[defaults]\nagent = 'other'"), false),
        (
            &format!("{agents}[[inboxes]]\npath = 'a'\ndefaults = {{ agent = 'other' }}"),
            false,
        ),
    ] {
        assert_eq!(read(text, &[]).is_ok(), accepted, "{text}");
    }
}

#[test]
fn agents_keep_the_order_of_the_file() {
    let text = "[agents.zebra]\ncommand = [\"z\"]\n[agents.ape]\ncommand = [\"a\"]\n[agents.mole]\ncommand = [\"m\"]\n";
    let loaded = Config::from_text(text, None, &Environment::default()).unwrap();
    let names: Vec<&String> = loaded.agents.keys().collect();
    assert_eq!(names, ["zebra", "ape", "mole"]);
}

#[test]
fn one_fallback_may_stand_for_a_list() {
    for text in ["'b'", "['b']"] {
        let text =
            format!("[agents.a]\ncommand = ['a']\nfallback = {text}\n[agents.b]\ncommand = ['b']");
        assert_eq!(read(&text, &[]).unwrap().agents["a"].fallback, ["b"]);
    }
}
