//! What a person has set up for each tool before it is given to ralphd: a key, an address, the tool's own settings. All of it lies
//! in a throw-away home.

use crate::support::model_server::{Prices, Tokens};
use serde_json::json;

/// A tool, and what is known of it.
pub struct Tool {
    /// Its preset.
    pub name: &'static str,
    /// Variables by the model server's address.
    pub variables: fn(&str) -> Vec<(&'static str, String)>,
    /// Files below the home by the model server's address.
    pub files: fn(&str) -> Vec<(&'static str, String)>,
    /// What ralphd is told beside its preset: lines of `[agents.NAME]`, then tables.
    pub settings: &'static str,
    /// Whether its stream tells tokens.
    pub tells_tokens: bool,
    /// Whether its stream tells tool calls.
    pub tells_calls: bool,
    /// What it reckons with where its stream tells the cost, else what ralphd does.
    pub prices: Option<Prices>,
}

/// The one place that says what an iteration has to cost in its row.
pub fn expected_cost(tool: &Tool, counted: Tokens) -> Option<f64> {
    tool.prices.map(|prices| counted.cost(prices))
}

const KEY: &str = "test-key";
/// The public price of Claude Sonnet 4.5, and what the other tools are configured with.
const PRICES: Prices = Prices {
    input: 3.0,
    output: 15.0,
    cache_read: 0.3,
    cache_written: 3.75,
};

/// `PRICES` for a model of no provider's list.
const OWN_PRICE: &str = "[prices.model]\ninput = 3\ncached_input = 0.3\noutput = 15\n";

const PLAIN: Tool = Tool {
    name: "",
    variables: |_| Vec::new(),
    files: |_| Vec::new(),
    settings: "",
    tells_tokens: true,
    tells_calls: true,
    prices: None,
};

pub fn claude() -> Tool {
    Tool {
        name: "claude",
        variables: |url| {
            vec![
                ("ANTHROPIC_BASE_URL", url.to_owned()),
                ("ANTHROPIC_API_KEY", KEY.to_owned()),
                ("ANTHROPIC_MODEL", "claude-sonnet-4-5".to_owned()),
            ]
        },
        prices: Some(PRICES),
        ..PLAIN
    }
}

pub fn codex() -> Tool {
    Tool {
        name: "codex",
        variables: |_| vec![("OPENAI_API_KEY", KEY.to_owned())],
        files: |url| {
            let config = format!(
                "model = \"gpt-5\"\nmodel_provider = \"local\"\n\
                 [model_providers.local]\nname = \"local\"\nbase_url = \"{url}/v1\"\n\
                 env_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\n"
            );
            vec![(".codex/config.toml", config)]
        },
        settings: "model = \"gpt-5\"\n",
        prices: Some(Prices {
            input: 1.25,
            cache_read: 0.125,
            output: 10.0,
            cache_written: 0.0,
        }),
        ..PLAIN
    }
}

pub fn gemini() -> Tool {
    Tool {
        name: "gemini",
        variables: |url| {
            vec![
                ("GEMINI_API_KEY", KEY.to_owned()),
                ("GEMINI_MODEL", "gemini-2.5-flash".to_owned()),
                ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
            ]
        },
        files: |_| {
            let settings = json!({ "security": { "auth": { "selectedType": "gemini-api-key" } } });
            vec![(".gemini/settings.json", settings.to_string())]
        },
        prices: Some(Prices {
            input: 0.3,
            cache_read: 0.03,
            output: 2.5,
            cache_written: 0.0,
        }),
        ..PLAIN
    }
}

pub fn opencode() -> Tool {
    Tool {
        name: "opencode",
        files: |url| {
            let cost = json!({
                "input": PRICES.input, "output": PRICES.output,
                "cache_read": PRICES.cache_read, "cache_write": PRICES.cache_written,
            });
            let model = json!({ "limit": { "context": 200_000, "output": 8_000 }, "cost": cost });
            let config = json!({
                "model": "local/model",
                "small_model": "local/model",
                "share": "disabled",
                "provider": { "local": {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": { "baseURL": format!("{url}/v1"), "apiKey": KEY },
                    "models": { "model": model },
                } },
            });
            vec![(".config/opencode/opencode.json", config.to_string())]
        },
        prices: Some(PRICES),
        ..PLAIN
    }
}

pub fn pi() -> Tool {
    Tool {
        name: "pi",
        files: |url| {
            let cost = json!({
                "input": PRICES.input, "output": PRICES.output,
                "cacheRead": PRICES.cache_read, "cacheWrite": PRICES.cache_written,
            });
            let model = json!({
                "id": "model", "name": "model", "reasoning": false, "input": ["text"],
                "cost": cost, "contextWindow": 200_000, "maxTokens": 8_000,
            });
            let models = json!({ "providers": { "local": {
                "baseUrl": format!("{url}/v1"), "api": "openai-completions", "apiKey": KEY, "models": [model],
            } } });
            let settings = json!({ "defaultProvider": "local", "defaultModel": "model" });
            vec![
                (".pi/agent/models.json", models.to_string()),
                (".pi/agent/settings.json", settings.to_string()),
            ]
        },
        prices: Some(PRICES),
        ..PLAIN
    }
}

pub fn qwen() -> Tool {
    Tool {
        name: "qwen",
        variables: |url| {
            vec![
                ("OPENAI_API_KEY", KEY.to_owned()),
                ("OPENAI_BASE_URL", format!("{url}/v1")),
                ("OPENAI_MODEL", "model".to_owned()),
            ]
        },
        files: |_| {
            let settings = json!({ "security": { "auth": { "selectedType": "openai" } } });
            vec![(".qwen/settings.json", settings.to_string())]
        },
        settings: OWN_PRICE,
        prices: Some(PRICES),
        ..PLAIN
    }
}

pub fn copilot() -> Tool {
    Tool {
        name: "copilot",
        variables: |url| {
            vec![
                ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
                ("COPILOT_PROVIDER_TYPE", "openai".to_owned()),
                ("COPILOT_PROVIDER_API_KEY", KEY.to_owned()),
                ("COPILOT_MODEL", "model".to_owned()),
                ("COPILOT_OFFLINE", "true".to_owned()),
            ]
        },
        tells_tokens: false,
        ..PLAIN
    }
}

pub fn cline() -> Tool {
    Tool {
        name: "cline",
        // What `cline auth -p openai-compatible` writes.
        files: |url| {
            let settings = json!({
                "provider": "openai-compatible", "apiKey": KEY, "model": "model", "baseUrl": format!("{url}/v1"),
            });
            let entry = json!({ "settings": settings, "tokenSource": "manual", "updatedAt": "2026-11-16T10:00:00.000Z" });
            let providers = json!({
                "version": 1,
                "lastUsedProvider": "openai-compatible",
                "providers": { "openai-compatible": entry },
            });
            vec![(".cline/data/settings/providers.json", providers.to_string())]
        },
        ..PLAIN
    }
}

pub fn droid() -> Tool {
    Tool {
        name: "droid",
        variables: |_| vec![("FACTORY_API_KEY", KEY.to_owned())],
        files: |url| {
            let settings = json!({
                "model": "custom:model",
                "customModels": [{
                    "model": "model", "id": "custom:model", "displayName": "model", "apiKey": KEY,
                    "baseUrl": format!("{url}/v1"), "provider": "generic-chat-completion-api", "maxOutputTokens": 8_000,
                }],
            });
            vec![(".factory/settings.json", settings.to_string())]
        },
        ..PLAIN
    }
}

pub fn cn() -> Tool {
    Tool {
        name: "cn",
        files: |url| {
            let config = format!(
                "name: local\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: model\n    provider: openai\n    model: model\n    \
                 apiBase: {url}/v1\n    apiKey: {KEY}\n    roles: [chat]\n    capabilities: [tool_use]\n"
            );
            vec![(".continue/config.yaml", config)]
        },
        tells_tokens: false,
        tells_calls: false,
        ..PLAIN
    }
}
