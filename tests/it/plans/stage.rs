//! A daemon whose one agent plays every role of a planned session by scripts, one set of them a case. It tells by words that only one
//! prompt has which role it plays, and by the objective which case it is in.

use crate::support::{Daemon, Session, Site};
use serde_json::{Value as Json, json};
use std::fs;
use std::ops::{Deref, DerefMut};

/// Finds role and case in the prompt, keeps that as `ROLE.N.prompt`, and plays the script `ROLE.N` of the case, or `ROLE`.
/// A script reads the prompt on stdin; `$D` is the directory of its case, `$N` the number of the role's turn.
const AGENT: &str = r#"
prompt=$(mktemp "$HERE/prompt.XXXXXX"); cat >"$prompt"
says() { grep -qF "$1" "$prompt"; }
if says 'You plan the work of one session.'; then role=planner
elif says 'You decide one question in a larger plan.'; then role=analyst
elif says 'the SQL of one task in a larger plan'; then role=query
elif says 'You check results of a larger plan'; then role=validator
elif says 'A task of a larger plan has failed.'; then role=error_analyzer
elif says 'A session has done its work in tasks.'; then role=summarizer
elif says '## Your step'; then role=step
else role=plain; fi
case=$(grep -o 'case [a-z0-9_]*' "$prompt" | head -n 1 | cut -c 6-)
D="$HERE/cases/$case"; N=1; mkdir -p "$D"
until mkdir "$D/$role.$N.turn" 2>/dev/null; do N=$((N + 1)); done
mv "$prompt" "$D/$role.$N.prompt"
export HERE D N
for script in "$D/$role.$N" "$D/$role"; do
    [ -f "$script" ] && exec /bin/sh "$script" <"$D/$role.$N.prompt"
done
case $role in
validator) echo '{"is_valid": true, "message": "looks right"}' ;;
summarizer) echo "The answer of $case." ;;
step | plain) echo "I did it."; echo TASK_COMPLETE ;;
*) echo "nobody plays the $role of case $case"; exit 3 ;;
esac
"#;

/// The stage with its daemon.
pub struct Stage {
    daemon: Daemon,
}

impl Deref for Stage {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.daemon
    }
}

impl DerefMut for Stage {
    fn deref_mut(&mut self) -> &mut Daemon {
        &mut self.daemon
    }
}

/// What a session of one case is to be given and told.
pub struct Case<'s> {
    stage: &'s Stage,
    name: String,
    front: String,
}

impl Stage {
    pub fn open() -> Self {
        Self::with("")
    }

    /// With more of a configuration.
    pub fn with(config: &str) -> Self {
        Self::on(Site::new(), config)
    }

    /// On a site that is prepared already.
    pub fn on(site: Site, config: &str) -> Self {
        let site = site
            .agent("worker", AGENT)
            .configure(&format!("[queue]\nmax_parallel = 8\n{config}"));
        Self {
            daemon: Daemon::start(site),
        }
    }

    /// A case of this name, of lower-case letters, digits and `_`.
    pub fn case(&self, name: &str) -> Case<'_> {
        fs::create_dir_all(self.file("cases").join(name)).unwrap();
        Case {
            stage: self,
            name: name.to_owned(),
            front: String::new(),
        }
    }

    /// A file of a case: what a script left there.
    pub fn left(&self, case: &str, file: &str) -> String {
        self.read(&format!("cases/{case}/{file}"))
    }

    /// How often a role was played in a case.
    pub fn turns(&self, case: &str, role: &str) -> usize {
        let count = |number: &usize| {
            !self
                .left(case, &format!("{role}.{number}.prompt"))
                .is_empty()
        };
        (1..).take_while(count).count()
    }

    /// The tasks of a session's plan, in order, all columns that people script against.
    pub fn tasks(&self, session: &Session) -> Vec<Json> {
        let sql = "SELECT json_object('id', id, 'order', task_order, 'type', task_type, 'status', status, 'agent', agent,
            'result', json(result), 'summary', result_summary, 'error_type', error_type, 'error', error_message,
            'retries', retry_count, 'parked_until_ms', parked_until_ms)
            FROM tasks WHERE session_id = ?1 AND task_type <> 'plan' ORDER BY task_order";
        let rows: Vec<String> = self.column(sql, [&session.id]);
        rows.iter().map(|row| row.parse().unwrap()).collect()
    }

    /// The task with this order.
    pub fn task(&self, session: &Session, order: i64) -> Json {
        let tasks = self.tasks(session).into_iter();
        let mut found = tasks.filter(|task| task["order"] == order);
        found.next().unwrap_or_else(|| panic!("no task {order}"))
    }

    /// The states of all tasks in order, as in `completed failed blocked`.
    pub fn states(&self, session: &Session) -> String {
        let tasks = self.tasks(session);
        let states: Vec<&str> = tasks
            .iter()
            .filter_map(|task| task["status"].as_str())
            .collect();
        states.join(" ")
    }

    /// What the events of a type say, oldest first.
    pub fn told(&self, session: &Session, kind: &str) -> Vec<Json> {
        let sql = "SELECT data FROM events WHERE session_id = ?1 AND type = ?2 ORDER BY seq";
        let rows: Vec<String> = self.column(sql, [session.id.as_str(), kind]);
        rows.iter().map(|row| row.parse().unwrap()).collect()
    }

    /// What was decided about each failure, oldest first, as in `retry retry fail`.
    pub fn decisions(&self, session: &Session) -> String {
        let told = self.told(session, "task.setback");
        let words: Vec<&str> = told
            .iter()
            .filter_map(|fact| fact["decision"].as_str())
            .collect();
        words.join(" ")
    }
}

impl Case<'_> {
    /// Adds a line to the request.
    pub fn front(mut self, line: &str) -> Self {
        self.front.push_str(&format!("{line}\n"));
        self
    }

    /// What a role does, by a script; `analyst.2` is its second turn only.
    pub fn plays(self, role: &str, script: &str) -> Self {
        let path = self.stage.file(&format!("cases/{}/{role}", self.name));
        fs::write(path, script).unwrap();
        self
    }

    /// What a role says.
    pub fn says(self, role: &str, words: &str) -> Self {
        self.plays(role, &says(words))
    }

    /// The planner's only plan.
    pub fn plan(self, tasks: Json) -> Self {
        self.says("planner", &plan(tasks))
    }

    /// Hands the request in.
    pub fn submit(self) {
        let mut front = self.front;
        if !front.contains("plan:") {
            front.push_str("plan: auto\n");
        }
        let text = format!("---\n{front}---\nDo what case {} is about.", self.name);
        self.stage.drop_file(&format!("{}.md", self.name), &text);
    }
}

/// A script that says something.
pub fn says(words: &str) -> String {
    format!("cat <<'END OF WORDS'\n{words}\nEND OF WORDS\n")
}

/// A plan as a planner says it.
pub fn plan(tasks: Json) -> String {
    json!({"plan_summary": "Step by step.", "complexity": "simple", "tasks": tasks}).to_string()
}

/// A shell task.
pub fn shell(order: u32, depends_on: &[u32], command: &str) -> Json {
    json!({"order": order, "type": "shell", "description": format!("Run {order}"), "depends_on": depends_on, "command": command})
}

/// A task with more of its fields.
pub fn with(mut task: Json, more: Json) -> Json {
    let fields = task.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    task
}
