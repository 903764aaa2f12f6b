//! The commented reference `config/ralphd.toml` against the code: every key, every default, no other.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::model::document::Shape;
use crate::model::document::shape::Kind;

fn read(text: &str) -> Result<Config, ConfigError> {
    let environment = [("HOME", "/home/u")].into_iter().collect();
    Config::from_text(
        text,
        Some(Path::new("/etc/ralphd/ralphd.toml")),
        &environment,
    )
}

#[test]
fn the_reference_is_the_default() {
    assert_eq!(read(REFERENCE), Ok(Config::default()));
}

#[test]
fn the_reference_with_every_key_is_valid() {
    // A cassette and a server do not go together, nor two ways to say the same, nor what only another kind of target has.
    let others = [
        "#cassette",
        "#secret_file",
        "#url_env",
        "#token_",
        "#click",
        "#command = [\"/etc/ralphd/tell-me\"]",
    ];
    let uncommented: String = REFERENCE
        .lines()
        .filter(|line| !others.iter().any(|other| line.starts_with(other)))
        .map(|line| format!("{}\n", uncomment(line)))
        .collect();
    let config = read(&uncommented).unwrap();
    assert_eq!(
        config.state.as_deref(),
        Some(Path::new("/home/u/.local/state/ralphd"))
    );
    assert_eq!(
        config.prompts.dir.as_deref(),
        Some(Path::new("/etc/ralphd/prompts"))
    );
    assert_eq!(config.roles.error_analyzer.as_deref(), Some("thinker"));
    assert_eq!(config.agents["writer"].limits.cpu_seconds, Some(3600));
    assert_eq!(config.agents["thinker"].max_steps, Some(50));
    assert_eq!(config.prices["gpt-5"].cached_input, Some(0.125));
    assert_eq!(config.inboxes[0].defaults.max_iterations, Some(20));
    assert_eq!(config.hooks["issues"].request.max_iterations, Some(5));
    assert_eq!(config.schedules[0].jitter, Period::from_mins(10));
}

#[test]
fn the_reference_has_every_key_and_no_other() {
    let mut section = String::new();
    let mut written = BTreeSet::new();
    for line in REFERENCE.lines().map(uncomment) {
        if let Some(name) = line.strip_prefix('[') {
            section = name
                .trim_matches(['[', ']'])
                .replace("prices.\"gpt-5\"", "prices.*");
        } else if let Some((key, _)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
            let dot = if section.is_empty() { "" } else { "." };
            assert!(
                written.insert(format!("{section}{dot}{key}")),
                "{key} twice"
            );
        }
    }
    // Two agents, one of each kind.
    let written: BTreeSet<String> = written
        .iter()
        .map(|key| key.replace("agents.writer", "agents.*"))
        .map(|key| key.replace("agents.thinker", "agents.*"))
        .map(|key| key.replace("hooks.issues", "hooks.*"))
        // Its keys are those of a request.
        .map(|key| match key.starts_with("hooks.*.request.") {
            true => "hooks.*.request".to_owned(),
            false => key,
        })
        .map(|key| key.replace("notify.ops", "notify.*"))
        // Its keys are git's own.
        .map(|key| key.replace("git.settings", "git.settings.*"))
        .collect();
    let mut known = BTreeSet::new();
    collect_keys("", &Shape::of::<Config>(), &mut known);
    assert_eq!(written, known);
}

/// In the reference `#key` is a key without a default, `# words` is prose.
fn uncomment(line: &str) -> &str {
    match line.strip_prefix('#') {
        Some(rest) if !rest.starts_with(' ') && !rest.is_empty() => rest,
        _ => line,
    }
}

fn collect_keys(path: &str, shape: &Shape, keys: &mut BTreeSet<String>) {
    let dot = if path.is_empty() { "" } else { "." };
    match &shape.kind {
        Kind::Table(table)
            if !["inboxes.defaults", "hooks.*.request", "schedules.request"].contains(&path) =>
        {
            for (name, field) in &table.fields {
                collect_keys(&format!("{path}{dot}{name}"), field, keys);
            }
            if let Some(rest) = &table.rest {
                collect_keys(&format!("{path}{dot}*"), rest, keys);
            }
        }
        Kind::List(list) if matches!(list.item.kind, Kind::Table(_)) => {
            collect_keys(path, &list.item, keys)
        }
        _ => {
            keys.insert(path.to_owned());
        }
    }
}
