//! The variables by which people set each tool up: what works in their shell has to work here. General credentials of a cloud go
//! to a tool only where it is told to use that cloud. It must not read the environment.

/// Names of variables that go together.
#[derive(Debug)]
pub struct Group {
    /// They are passed on only where this one is set; always without it.
    pub only_with: Option<&'static str>,
    pub names: &'static [&'static str],
}

const fn always(names: &'static [&'static str]) -> Group {
    Group {
        only_with: None,
        names,
    }
}

pub(super) const CLAUDE: Group = always(&[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_BETAS",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_FOUNDRY_API_KEY",
    "ANTHROPIC_FOUNDRY_BASE_URL",
    "ANTHROPIC_FOUNDRY_RESOURCE",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "API_TIMEOUT_MS",
    "BASH_DEFAULT_TIMEOUT_MS",
    "BASH_MAX_TIMEOUT_MS",
    "CLAUDE_CODE_CLIENT_CERT",
    "CLAUDE_CODE_CLIENT_KEY",
    "CLAUDE_CODE_EFFORT_LEVEL",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CONFIG_DIR",
    "CLOUD_ML_REGION",
    "MAX_THINKING_TOKENS",
]);

pub(super) const CLAUDE_ON_AMAZON: Group = Group {
    only_with: Some("CLAUDE_CODE_USE_BEDROCK"),
    names: &[
        "AWS_ACCESS_KEY_ID",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_CONFIG_FILE",
        "AWS_DEFAULT_REGION",
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_SHARED_CREDENTIALS_FILE",
    ],
};

pub(super) const CLAUDE_ON_GOOGLE: Group = Group {
    only_with: Some("CLAUDE_CODE_USE_VERTEX"),
    names: &["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"],
};

pub(super) const CODEX: Group = always(&[
    "CODEX_ACCESS_TOKEN",
    "CODEX_API_KEY",
    "CODEX_HOME",
    "CODEX_SQLITE_HOME",
    "OPENAI_ORGANIZATION",
]);

pub(super) const GEMINI: Group = always(&[
    "GEMINI_API_KEY",
    "GEMINI_CLI_HOME",
    "GEMINI_DEFAULT_AUTH_TYPE",
    "GEMINI_MODEL",
    "GOOGLE_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_VERTEX_BASE_URL",
]);

/// Keys of the providers that tools of many models can use.
pub(super) const PROVIDERS: Group = always(&[
    "ANTHROPIC_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENROUTER_API_KEY",
    "XAI_API_KEY",
    "ZAI_API_KEY",
]);

pub(super) const OPENCODE: Group = always(&[
    "OPENCODE_API_KEY",
    "OPENCODE_AUTH_CONTENT",
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_CONTENT",
    "OPENCODE_CONFIG_DIR",
    "OPENCODE_PERMISSION",
]);

pub(super) const PI: Group = always(&[
    "ANTHROPIC_OAUTH_TOKEN",
    "OPENCODE_API_KEY",
    "PI_CODING_AGENT_DIR",
]);

pub(super) const QWEN: Group = always(&["DASHSCOPE_API_KEY", "OPENAI_MODEL", "QWEN_HOME"]);

pub(super) const COPILOT: Group = always(&[
    "COPILOT_GITHUB_TOKEN",
    "COPILOT_HOME",
    "COPILOT_MODEL",
    "COPILOT_OFFLINE",
    "COPILOT_PROVIDER_API_KEY",
    "COPILOT_PROVIDER_BASE_URL",
    "COPILOT_PROVIDER_TYPE",
    "GH_HOST",
    "GH_TOKEN",
    "GITHUB_TOKEN",
]);

pub(super) const CLINE: Group = always(&[
    "CLINE_API_KEY",
    "CLINE_DATA_DIR",
    "CLINE_DIR",
    "CLINE_MODEL",
    "CLINE_PROVIDER",
]);

pub(super) const DROID: Group = always(&["FACTORY_API_KEY"]);

pub(super) const CN: Group = always(&["CONTINUE_API_KEY", "CONTINUE_GLOBAL_DIR"]);

pub(super) const AIDER: Group = always(&["AIDER_MODEL", "OPENAI_API_BASE"]);

pub(super) const LLM: Group = always(&["LLM_MODEL", "LLM_USER_PATH", "OPENAI_API_KEY"]);
