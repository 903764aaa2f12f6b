//! One table of the tools that are known to run headlessly: how each is started and what it can tell. It must not start anything.

mod environment;

use super::words::words;
use environment::{
    AIDER, CLAUDE, CLAUDE_ON_AMAZON, CLAUDE_ON_GOOGLE, CLINE, CN, CODEX, COPILOT, DROID, GEMINI,
    Group, LLM, OPENCODE, PI, PROVIDERS, QWEN,
};

/// For tools that retry for ever without a word.
const SILENCE_TIMEOUT_MS: u64 = 15 * 60 * 1_000;

words! {
    /// Whose output a stream is.
    pub enum Format {
        /// Plain text: the final text is the end of stdout.
        Text => "text",
        /// Claude Code, `--output-format stream-json` or `json`.
        Claude => "claude",
        /// Codex, `exec --json`.
        Codex => "codex",
        /// Gemini CLI, `-o stream-json` or `json`.
        Gemini => "gemini",
        /// opencode, `run --format json`.
        Opencode => "opencode",
        /// pi, `--mode json`.
        Pi => "pi",
        /// Qwen Code, `-o stream-json` or `json`.
        Qwen => "qwen",
        /// GitHub Copilot CLI, `--output-format json`.
        Copilot => "copilot",
        /// Cline, `--json`.
        Cline => "cline",
        /// Factory droid, `exec -o stream-json` or `json`.
        Droid => "droid",
        /// Continue's `cn`, `--format json`.
        Cn => "cn",
        /// ralphd's own built-in agents.
        Ralphd => "ralphd",
    }
}

words! {
    /// How the prompt gets to the tool.
    pub enum Prompt {
        /// On stdin, which is then closed: no limit on its length.
        Stdin => "stdin",
        /// As the last argument.
        Arg => "arg",
        /// In a file, whose path is the last argument.
        File => "file",
    }
}

/// How one tool is run unattended.
#[derive(Debug)]
pub struct Preset {
    /// What people call it.
    pub name: &'static str,
    /// The program, looked up on `PATH`.
    pub program: &'static str,
    /// Its arguments.
    pub arguments: &'static [&'static str],
    /// The arguments that let it work with nobody to ask.
    pub unattended: &'static [&'static str],
    /// How the prompt goes in.
    pub prompt: Prompt,
    /// The option that names a model; empty where the tool has none.
    pub model_option: &'static str,
    /// The arguments right before the prompt, or in its place where it goes in on stdin.
    pub before_prompt: &'static [&'static str],
    /// How its stdout is read.
    pub format: Format,
    /// Environment it is given.
    pub set_environment: &'static [(&'static str, &'static str)],
    /// Environment that is passed on to it, beyond what every tool gets.
    pub pass_environment: &'static [Group],
    /// The variables in which it looks for a key, the usual one first; none where it serves many providers.
    pub key_variables: &'static [&'static str],
    /// What a person runs to log in instead.
    pub login: &'static str,
    /// The file below the home directory that such a login leaves; empty where it is not known.
    pub login_file: &'static str,
    /// Whether it tells what it spent in USD.
    pub reports_cost: bool,
    /// Whether it tells its tokens.
    pub reports_tokens: bool,
    /// Whether it tells its tool calls.
    pub reports_tool_calls: bool,
    /// How long it may say nothing, where it is known to retry in silence.
    pub silence_timeout_ms: Option<u64>,
    /// What a person has to set up first; empty for a login or key alone.
    pub setup: &'static str,
}

impl Preset {
    /// The preset of that name.
    pub fn named(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The command line, up to where a prompt or its file's path is the last argument.
    pub fn command_line<'a>(&'a self, model: Option<&'a str>) -> Vec<&'a str> {
        let named = model.filter(|_| !self.model_option.is_empty());
        let model = named.map_or_else(Vec::new, |model| vec![self.model_option, model]);
        let parts = [
            &[self.program],
            self.arguments,
            self.unattended,
            &model,
            self.before_prompt,
        ];
        parts.concat()
    }

    /// The names of the variables that are passed on to it, by those that are set.
    pub fn passed_names(&self, is_set: impl Fn(&str) -> bool) -> Vec<&'static str> {
        let passed = |group: &&Group| group.only_with.is_none_or(&is_set);
        let groups = self.pass_environment.iter().filter(passed);
        groups.flat_map(|group| group.names).copied().collect()
    }
}

const NOTHING: Preset = Preset {
    name: "",
    program: "",
    arguments: &[],
    unattended: &[],
    prompt: Prompt::Stdin,
    model_option: "",
    before_prompt: &[],
    format: Format::Text,
    set_environment: &[],
    pass_environment: &[],
    key_variables: &[],
    login: "",
    login_file: "",
    reports_cost: false,
    reports_tokens: false,
    reports_tool_calls: false,
    silence_timeout_ms: None,
    setup: "",
};

/// Every known tool, the ones tried first before the others.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "claude",
        program: "claude",
        model_option: "--model",
        arguments: &["-p", "--output-format", "stream-json", "--verbose"],
        unattended: &["--dangerously-skip-permissions"],
        format: Format::Claude,
        set_environment: &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")],
        pass_environment: &[CLAUDE, CLAUDE_ON_AMAZON, CLAUDE_ON_GOOGLE],
        key_variables: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
        ],
        login: "claude /login",
        login_file: ".claude/.credentials.json",
        reports_cost: true,
        reports_tokens: true,
        reports_tool_calls: true,
        ..NOTHING
    },
    Preset {
        name: "codex",
        program: "codex",
        model_option: "-m",
        arguments: &["exec", "--json", "--skip-git-repo-check"],
        unattended: &["--dangerously-bypass-approvals-and-sandbox"],
        before_prompt: &["-"],
        format: Format::Codex,
        pass_environment: &[CODEX, PROVIDERS],
        key_variables: &["CODEX_API_KEY", "OPENAI_API_KEY"],
        login: "codex login",
        login_file: ".codex/auth.json",
        reports_tokens: true,
        reports_tool_calls: true,
        ..NOTHING
    },
    Preset {
        name: "gemini",
        program: "gemini",
        model_option: "-m",
        arguments: &["-o", "stream-json"],
        unattended: &["--approval-mode", "yolo"],
        format: Format::Gemini,
        set_environment: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        pass_environment: &[GEMINI],
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        login: "gemini",
        login_file: ".gemini/oauth_creds.json",
        reports_tokens: true,
        reports_tool_calls: true,
        silence_timeout_ms: Some(SILENCE_TIMEOUT_MS),
        setup: "security.auth.selectedType in ~/.gemini/settings.json",
        ..NOTHING
    },
    Preset {
        name: "opencode",
        program: "opencode",
        model_option: "--model",
        // With a title given it asks the model for none, whose cost its stream would not tell.
        arguments: &[
            "run",
            "--format",
            "json",
            "--print-logs",
            "--title",
            "ralphd",
        ],
        unattended: &["--auto"],
        format: Format::Opencode,
        set_environment: &[
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ],
        pass_environment: &[OPENCODE, PROVIDERS],
        login: "opencode auth login",
        login_file: ".local/share/opencode/auth.json",
        reports_cost: true,
        reports_tokens: true,
        reports_tool_calls: true,
        silence_timeout_ms: Some(SILENCE_TIMEOUT_MS),
        ..NOTHING
    },
    Preset {
        name: "pi",
        program: "pi",
        model_option: "--model",
        arguments: &["-p", "--mode", "json"],
        format: Format::Pi,
        set_environment: &[("PI_OFFLINE", "1")],
        pass_environment: &[PI, PROVIDERS],
        reports_cost: true,
        reports_tokens: true,
        reports_tool_calls: true,
        ..NOTHING
    },
    Preset {
        name: "qwen",
        program: "qwen",
        model_option: "--model",
        arguments: &["-o", "stream-json"],
        unattended: &["--approval-mode", "yolo"],
        format: Format::Qwen,
        pass_environment: &[QWEN, PROVIDERS],
        key_variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
        reports_tokens: true,
        reports_tool_calls: true,
        silence_timeout_ms: Some(SILENCE_TIMEOUT_MS),
        setup: "an auth type in ~/.qwen/settings.json, or --auth-type openai with a key; node 22 or newer",
        ..NOTHING
    },
    Preset {
        name: "copilot",
        program: "copilot",
        model_option: "--model",
        arguments: &["--output-format", "json"],
        unattended: &["--allow-all-tools"],
        prompt: Prompt::Arg,
        before_prompt: &["-p"],
        format: Format::Copilot,
        set_environment: &[("COPILOT_AUTO_UPDATE", "false")],
        pass_environment: &[COPILOT],
        key_variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
        login: "copilot login",
        reports_tool_calls: true,
        ..NOTHING
    },
    Preset {
        name: "cline",
        program: "cline",
        model_option: "-m",
        arguments: &["--json"],
        prompt: Prompt::Arg,
        format: Format::Cline,
        set_environment: &[("CLINE_NO_AUTO_UPDATE", "1")],
        pass_environment: &[CLINE],
        login: "cline auth",
        reports_cost: true,
        reports_tokens: true,
        reports_tool_calls: true,
        silence_timeout_ms: Some(SILENCE_TIMEOUT_MS),
        setup: "cline auth, once; it leaves a daemon behind that has to be ended with it",
        ..NOTHING
    },
    Preset {
        name: "droid",
        program: "droid",
        model_option: "-m",
        arguments: &["exec", "-o", "stream-json"],
        unattended: &["--auto", "high"],
        prompt: Prompt::Arg,
        format: Format::Droid,
        set_environment: &[("FACTORY_DROID_AUTO_UPDATE_ENABLED", "false")],
        pass_environment: &[DROID],
        key_variables: &["FACTORY_API_KEY"],
        reports_tokens: true,
        reports_tool_calls: true,
        silence_timeout_ms: Some(SILENCE_TIMEOUT_MS),
        ..NOTHING
    },
    Preset {
        name: "cn",
        program: "cn",
        arguments: &["--format", "json"],
        unattended: &["--auto"],
        prompt: Prompt::Arg,
        before_prompt: &["-p"],
        format: Format::Cn,
        pass_environment: &[CN, PROVIDERS],
        silence_timeout_ms: Some(SILENCE_TIMEOUT_MS),
        setup: "a model in Continue's config.yaml",
        ..NOTHING
    },
    Preset {
        name: "aider",
        program: "aider",
        model_option: "--model",
        arguments: &[
            "--no-check-update",
            "--no-analytics",
            "--no-stream",
            "--no-pretty",
        ],
        unattended: &["--yes-always"],
        prompt: Prompt::File,
        before_prompt: &["--message-file"],
        pass_environment: &[AIDER, PROVIDERS],
        ..NOTHING
    },
    Preset {
        name: "llm",
        program: "llm",
        model_option: "-m",
        pass_environment: &[LLM],
        key_variables: &["OPENAI_API_KEY"],
        login: "llm keys set openai",
        setup: "it has no tools: for roles that only answer",
        ..NOTHING
    },
];

#[cfg(test)]
mod tests;
