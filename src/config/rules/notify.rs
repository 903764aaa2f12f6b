//! What must hold for those who are told: which keys belong to which kind, and that names and addresses can be used.

use super::{at, items};
use crate::config::Config;
use crate::config::notify::{Target, TargetKind};
use crate::model::address;
use crate::model::document::{Finding, Node, Value};
use crate::model::nearest::nearest;
use crate::model::notice::CALLBACK;

/// Keys that not every kind has, and which kinds have them.
const OF_KINDS: &[(&str, &[TargetKind])] = &[
    ("url", POSTED),
    ("url_env", POSTED),
    ("allow_private", POSTED),
    ("secret_env", &[TargetKind::Webhook]),
    ("secret_file", &[TargetKind::Webhook]),
    ("token_env", &[TargetKind::Ntfy]),
    ("token_file", &[TargetKind::Ntfy]),
    ("click", &[TargetKind::Ntfy]),
    ("command", &[TargetKind::Exec]),
];
const POSTED: &[TargetKind] = &[TargetKind::Webhook, TargetKind::Ntfy, TargetKind::Slack];
/// Two ways to say the same.
const EITHER: &[(&str, &str)] = &[
    ("url", "url_env"),
    ("secret_env", "secret_file"),
    ("token_env", "token_file"),
];

pub(super) fn broken(config: &Config, tree: &Node) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, target) in &config.notify {
        if name == CALLBACK {
            let message = "is what the callback_url of a request is called; choose another name";
            findings.push(at(tree, &["notify", name], message.to_owned()));
        }
        findings.extend(misplaced(name, target.kind, tree));
        findings.extend(missing(name, target, tree));
        findings.extend(unusable(name, target, tree));
        findings.extend(EITHER.iter().filter_map(|(one, other)| {
            let path = ["notify", name, other];
            tree.place_of(&["notify", name, one])
                .and(tree.place_of(&path))?;
            Some(at(
                tree,
                &path,
                format!("{one} is given too; one of them is enough"),
            ))
        }));
    }
    let callbacks = &config.callbacks;
    if callbacks.secret_env.is_some() && callbacks.secret_file.is_some() {
        let message = "secret_env is given too; one of them is enough".to_owned();
        findings.push(at(tree, &["callbacks", "secret_file"], message));
    }
    findings.extend(unknown_names(config, tree));
    findings
}

fn misplaced(name: &str, kind: TargetKind, tree: &Node) -> Vec<Finding> {
    let strange = OF_KINDS.iter().filter(|(key, kinds)| {
        !kinds.contains(&kind) && tree.place_of(&["notify", name, key]).is_some()
    });
    strange
        .map(|(key, kinds)| {
            let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
            let message = format!("is for {} only; {kind} has no use for it", kinds.join(", "));
            at(tree, &["notify", name, key], message)
        })
        .collect()
}

fn missing(name: &str, target: &Target, tree: &Node) -> Option<Finding> {
    let (key, message) = match target.kind {
        TargetKind::Exec => match target.command.first() {
            Some(program) if !program.trim().is_empty() => return None,
            _ => ("command", "is missing: name a program"),
        },
        _ if target.url.is_some() || target.url_env.is_some() => return None,
        _ => (
            "url",
            "is missing: give the address, or by url_env the variable that holds it",
        ),
    };
    Some(Finding {
        place: tree
            .place_of(&["notify", name])
            .cloned()
            .unwrap_or_default(),
        key: format!("notify.{name}.{key}"),
        message: message.to_owned(),
    })
}

fn unusable(name: &str, target: &Target, tree: &Node) -> Option<Finding> {
    let message = problem_of_address(target.kind, target.url.as_ref()?, target.allow_private)?;
    Some(at(tree, &["notify", name, "url"], message))
}

/// What keeps a target from being posted to at an address, as far as one can tell without looking its name up.
fn problem_of_address(kind: TargetKind, url: &str, allow_private: bool) -> Option<String> {
    let url = match address::read(url) {
        Ok(url) => url,
        Err(problem) => return Some(problem),
    };
    let topic = url.path_segments().and_then(|mut parts| parts.next_back());
    if kind == TargetKind::Ntfy && topic.is_none_or(str::is_empty) {
        return Some("must end with a topic, as https://ntfy.sh/my-topic".to_owned());
    }
    let private = address::plainly_not_public(&url).filter(|_| !allow_private)?;
    Some(format!(
        "{private}; set allow_private = true if that is meant"
    ))
}

/// Names of targets that nobody configured, in defaults of requests.
fn unknown_names(config: &Config, tree: &Node) -> Vec<Finding> {
    let known: Vec<&str> = config.notify.keys().map(String::as_str).collect();
    let unknown = |name: &&String| !config.notify.contains_key(*name);
    let mut findings = Vec::new();
    for name in config.defaults.notify.iter().filter(unknown) {
        let message = unknown_target(name, &known);
        findings.push(at(tree, &["defaults", "notify"], message));
    }
    for (index, inbox) in items(tree, "inboxes").iter().enumerate() {
        let given = inbox
            .entry("defaults")
            .and_then(|entry| entry.node.entry("notify"));
        let Some((entry, Value::List(names))) = given.map(|entry| (entry, &entry.node.value))
        else {
            continue;
        };
        for name in names {
            if let Value::Text(name) = &name.value
                && unknown(&name)
            {
                findings.push(Finding {
                    place: entry.place.clone(),
                    key: format!("inboxes[{index}].defaults.notify"),
                    message: unknown_target(name, &known),
                });
            }
        }
    }
    findings
}

/// That there is no such target, and which there are.
pub fn unknown_target(name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return format!("there is no [notify.{name}] in the configuration, nor any other");
    }
    let near = nearest(name, known.iter().copied());
    let advice = near.map(|near| format!("; did you mean {near}?"));
    let known = known.join(", ");
    format!(
        "there is no [notify.{name}], only {known}{}",
        advice.unwrap_or_default()
    )
}
