//! What the played model does: for each iteration one command by the tool's own shell, then the final words. Which iteration it is
//! and how far it has come stands in the conversation itself, so a repeated request gets the same answer.

use serde_json::{Map, Value as Json, json};

/// One iteration: a command, then words.
pub struct Scene {
    pub command: &'static str,
    pub words: &'static str,
}

/// What an answer was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The shell was called.
    Call,
    /// The final words were said.
    Words,
    /// The tool asked for something of its own: a title, a route, a summary.
    Aside,
    /// A play of a script.
    Scripted,
    /// Nothing that a model is asked.
    Unknown,
}

/// A request for an answer, whatever its dialect.
pub struct Asked {
    /// Which request this is, from 1.
    pub number: usize,
    pub model: String,
    pub streamed: bool,
    /// The whole conversation as JSON text.
    pub conversation: String,
    /// The result of a command is in it.
    pub has_result: bool,
    pub tools: Vec<Offer>,
}

impl Asked {
    /// A request of a dialect that names the model and its tools in the body.
    pub fn in_body(
        body: &Json,
        conversation: &str,
        result: &str,
        offer: fn(&Json) -> Offer,
    ) -> Self {
        let conversation = body[conversation].to_string();
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        Self {
            number: 0,
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            streamed: body["stream"] == true,
            has_result: conversation.contains(result),
            conversation,
            tools: tools.iter().map(offer).collect(),
        }
    }
}

/// A tool that the model may call.
pub struct Offer {
    pub name: String,
    pub schema: Json,
}

impl Offer {
    pub fn new(tool: &Json, schema: &str) -> Self {
        Self {
            name: tool["name"].as_str().unwrap_or_default().to_owned(),
            schema: tool[schema].clone(),
        }
    }
}

/// An answer, whatever the dialect.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    pub text: String,
    /// Names, and arguments as they are written.
    pub calls: Vec<(String, String)>,
    /// Why it ends, in the words of the dialect, where that is not plain.
    pub stop: Option<&'static str>,
}

impl Reply {
    fn say(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// Why it ends: one word for an answer with calls, another for mere words.
    pub fn stop_or(&self, calls: &'static str, words: &'static str) -> &'static str {
        let plain = if self.calls.is_empty() { words } else { calls };
        self.stop.unwrap_or(plain)
    }

    /// Arguments as JSON, for dialects that carry them so.
    pub fn parsed_calls(&self) -> impl Iterator<Item = (&str, Json)> {
        let parsed = |arguments: &str| serde_json::from_str(arguments).unwrap_or_default();
        self.calls
            .iter()
            .map(move |(name, arguments)| (name.as_str(), parsed(arguments)))
    }
}

const SHELLS: [&str; 8] = [
    "Bash",
    "bash",
    "exec_command",
    "shell_command",
    "shell",
    "run_shell_command",
    "run_commands",
    "Execute",
];
const ASIDE: &str = "A note";

impl Asked {
    /// The iteration whose prompt is in the conversation: the supervisor's own words tell its number.
    pub fn iteration(&self) -> Option<usize> {
        let (_, rest) = self.conversation.rsplit_once("This is iteration ")?;
        let (number, _) = rest.split_once(" of at most ")?;
        number.parse().ok()
    }

    fn shell(&self) -> Option<&Offer> {
        let is_shell = |offer: &&Offer| SHELLS.contains(&offer.name.as_str());
        self.tools.iter().find(is_shell)
    }
}

/// What the model answers, and as what.
pub fn answer(asked: &Asked, scenes: &[Scene]) -> (Part, Reply) {
    let scene = asked
        .iteration()
        .and_then(|iteration| scenes.get(iteration - 1));
    match (scene, asked.shell()) {
        (Some(scene), _) if asked.has_result => (Part::Words, Reply::say(scene.words)),
        (Some(scene), Some(shell)) => {
            let arguments = arguments(&shell.schema, scene.command).to_string();
            let call = Reply {
                calls: vec![(shell.name.clone(), arguments)],
                ..Reply::default()
            };
            (Part::Call, call)
        }
        _ => (Part::Aside, Reply::say(ASIDE)),
    }
}

/// Arguments that satisfy a shell tool's schema and run the command.
fn arguments(schema: &Json, command: &str) -> Json {
    let no_properties = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&no_properties);
    let required = |name: &str| {
        let names = schema["required"].as_array();
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    let mut arguments = Map::new();
    for (name, property) in properties {
        let kind = property["type"].as_str().unwrap_or_default();
        let value = match (name.as_str(), kind) {
            ("command", "array") => json!(["sh", "-c", command]),
            ("commands", "array") => json!([command]),
            ("command" | "cmd" | "commands", _) => json!(command),
            _ if !required(name) => continue,
            (_, "boolean") => json!(false),
            (_, "number" | "integer") => json!(10),
            (_, "array") => json!([]),
            _ => property["enum"].get(0).cloned().unwrap_or(json!("A step")),
        };
        arguments.insert(name.clone(), value);
    }
    Json::Object(arguments)
}

/// A text in two pieces, as a model says it.
pub fn pieces(text: &str) -> [&str; 2] {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, second]
}
