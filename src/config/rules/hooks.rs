//! What must hold for webhooks: that somebody can be told from anybody, and that what is sent decides nothing but what it may.

use super::at;
use crate::config::{Config, Hook};
use crate::model::document::{Finding, Node, Value};
use crate::model::webhook::template::may_be_template;
use crate::model::webhook::{Scheme, Templates};

pub(super) fn broken(config: &Config, tree: &Node) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, hook) in &config.hooks {
        findings.extend(secrets(name, hook, tree));
        findings.extend(templates(name, hook, tree));
        findings.extend(chosen_workspace(name, hook, tree));
    }
    let hooks = tree.entry("hooks").map(|entry| entry.node.entries());
    for hook in hooks.unwrap_or_default() {
        if let Some(request) = hook.node.entry("request") {
            let key = format!("hooks.{}.request", hook.name);
            findings.extend(constants(&key, &request.node, &[]));
        }
    }
    findings
}

fn secrets(name: &str, hook: &Hook, tree: &Node) -> Option<Finding> {
    let given = !hook.secret_env.is_empty() || !hook.secret_file.is_empty();
    match (hook.verify, given) {
        (Scheme::None, true) => {
            let key = match hook.secret_env.is_empty() {
                true => "secret_file",
                false => "secret_env",
            };
            let message = "would not be used with verify = \"none\"; leave it out, or verify by \"bearer\", \"github\" or \"standard\"";
            Some(at(tree, &["hooks", name, key], message.to_owned()))
        }
        (Scheme::None, false) | (_, true) => None,
        (_, false) => Some(Finding {
            place: tree.place_of(&["hooks", name]).cloned().unwrap_or_default(),
            key: format!("hooks.{name}.secret_env"),
            message:
                "is missing: name the variable that holds the secret, or a file by secret_file"
                    .to_owned(),
        }),
    }
}

fn templates(name: &str, hook: &Hook, tree: &Node) -> Vec<Finding> {
    let compiled = Templates::compile(
        hook.filter.as_deref(),
        hook.dedupe.as_deref(),
        &hook.request,
    );
    let mistakes = compiled.err().unwrap_or_default();
    let findings = mistakes.into_iter().map(|mistake| {
        let below = mistake.key.iter().map(String::as_str);
        let path: Vec<&str> = ["hooks", name].into_iter().chain(below).collect();
        at(tree, &path, mistake.message)
    });
    findings.collect()
}

/// A payload must not choose the workspace of somebody else.
fn chosen_workspace(name: &str, hook: &Hook, tree: &Node) -> Option<Finding> {
    let workspace = hook.request.workspace.as_ref();
    let session = workspace.and_then(|workspace| workspace.session.as_deref())?;
    session.trim_start().starts_with('{').then(|| {
        let message = "must begin with a word of your own, as in \"issue-{{ payload.issue.number }}\", so that what is sent cannot name the workspace of other sessions";
        at(tree, &["hooks", name, "request", "workspace", "session"], message.to_owned())
    })
}

/// Whatever gives power over a session is decided here and not by who sends something.
fn constants(key: &str, node: &Node, path: &[&str]) -> Vec<Finding> {
    match &node.value {
        Value::Text(text)
            if !may_be_template(path) && (text.contains("{{") || text.contains("{%")) =>
        {
            vec![Finding {
                place: node.place.clone(),
                key: key.to_owned(),
                message: "must not be a template: what is sent may not decide it; only objective, labels, idempotency_key and workspace.session may be templates".to_owned(),
            }]
        }
        Value::List(items) => items
            .iter()
            .enumerate()
            .flat_map(|(index, item)| constants(&format!("{key}[{index}]"), item, path))
            .collect(),
        Value::Table(entries) => entries
            .iter()
            .flat_map(|entry| {
                let inner: Vec<&str> = path.iter().copied().chain([entry.name.as_str()]).collect();
                constants(&format!("{key}.{}", entry.name), &entry.node, &inner)
            })
            .collect(),
        _ => Vec::new(),
    }
}
