//! What must hold between keys. The tree tells where a key was given; a key that was not given has its
//! default, and the other one is blamed.

mod builtin;
mod digest;
mod hooks;
mod notify;
mod schedules;

pub use notify::unknown_target;

use std::path::Path;

use super::agent::{AgentKind, REHEARSAL, needs_no_configuration};
use super::{Config, Queue};
use crate::model::document::{Finding, Node, Place, Value};
use crate::model::fallback::circle;
use crate::model::nearest::nearest;
use crate::model::preset::Preset;
use crate::model::role::Role;

pub(super) fn broken(config: &Config, tree: &Node) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(heartbeat(&config.queue, tree));
    findings.extend(reserved_agent(tree));
    findings.extend(named_agents(config, tree));
    findings.extend(commands(config, tree));
    findings.extend(builtin::broken(config, tree));
    findings.extend(hooks::broken(config, tree));
    findings.extend(models_untold(config, tree));
    findings.extend(fallbacks(config, tree));
    findings.extend(keys(config, tree));
    findings.extend(inboxes_twice(config, tree));
    findings.extend(notify::broken(config, tree));
    findings.extend(schedules::broken(config, tree));
    findings.extend(digest::broken(config, tree));
    findings
}

fn at(tree: &Node, path: &[&str], message: String) -> Finding {
    Finding {
        place: tree.place_of(path).cloned().unwrap_or_default(),
        key: path.join("."),
        message,
    }
}

/// A lease must survive one lost heartbeat.
fn heartbeat(queue: &Queue, tree: &Node) -> Option<Finding> {
    let Queue {
        lease, heartbeat, ..
    } = queue;
    if heartbeat.as_millis() * 2 <= lease.as_millis() {
        return None;
    }
    let (key, message) = match tree.place_of(&["queue", "heartbeat"]) {
        Some(_) => (
            "heartbeat",
            format!("must be at most half of lease ({lease}), is {heartbeat}"),
        ),
        None => (
            "lease",
            format!("must be at least twice heartbeat ({heartbeat}), is {lease}"),
        ),
    };
    Some(at(tree, &["queue", key], message))
}

fn reserved_agent(tree: &Node) -> Option<Finding> {
    let path = ["agents", REHEARSAL];
    tree.place_of(&path)?;
    let message = "is the name of the built-in agent; choose another name".to_owned();
    Some(at(tree, &path, message))
}

/// With agents configured, a name that is none of them is a mistake; without, it may still be discovered.
fn named_agents(config: &Config, tree: &Node) -> Vec<Finding> {
    let agents = tree
        .entry("agents")
        .map_or(&[][..], |entry| entry.node.entries());
    let configured: Vec<&str> = agents.iter().map(|entry| entry.name.as_str()).collect();
    let is_known = |name: &str| {
        configured.is_empty() || configured.contains(&name) || needs_no_configuration(name)
    };
    let mut findings = Vec::new();
    let defaults = &config.defaults;
    let roles = Role::ALL
        .iter()
        .map(|role| ("roles", role.as_str(), config.roles.of(*role)));
    let named = [
        ("defaults", "agent", defaults.agent.as_deref()),
        ("defaults", "summarizer", defaults.summarizer.as_deref()),
    ];
    for (section, key, name) in named.into_iter().chain(roles) {
        if let Some(name) = name.filter(|name| !is_known(name)) {
            let message = unknown_agent(name, &configured);
            findings.push(at(tree, &[section, key], message));
        }
    }
    for (name, hook) in &config.hooks {
        if let Some(agent) = hook.request.agent.as_deref().filter(|name| !is_known(name)) {
            let message = unknown_agent(agent, &configured);
            findings.push(at(tree, &["hooks", name, "request", "agent"], message));
        }
    }
    for (section, part) in [("inboxes", "defaults"), ("schedules", "request")] {
        for (index, item) in items(tree, section).iter().enumerate() {
            let given = item.entry(part).and_then(|entry| entry.node.entry("agent"));
            let Some((entry, Value::Text(name))) = given.map(|entry| (entry, &entry.node.value))
            else {
                continue;
            };
            if !is_known(name) {
                findings.push(Finding {
                    place: entry.place.clone(),
                    key: format!("{section}[{index}].{part}.agent"),
                    message: unknown_agent(name, &configured),
                });
            }
        }
    }
    findings
}

fn unknown_agent(name: &str, configured: &[&str]) -> String {
    let near = nearest(name, configured.iter().copied());
    let advice = near
        .map(|near| format!("; did you mean {near}?"))
        .unwrap_or_default();
    format!(
        "there is no agent {name}, only {}{advice}",
        configured.join(", ")
    )
}

fn commands(config: &Config, tree: &Node) -> Vec<Finding> {
    let unusable = config.agents.iter().filter_map(|(name, agent)| {
        let message = match agent.command.first() {
            None if agent.preset.is_some() || agent.kind == AgentKind::Builtin => return None,
            None => "is missing: name a program, or a known tool by preset",
            Some(program) if program.trim().is_empty() => {
                "must begin with the name of a program, is blank"
            }
            Some(_) => return None,
        };
        let place = tree
            .place_of(&["agents", name, "command"])
            .or_else(|| tree.place_of(&["agents", name]));
        Some(Finding {
            place: place.cloned().unwrap_or_default(),
            key: format!("agents.{name}.command"),
            message: message.to_owned(),
        })
    });
    unusable.collect()
}

/// A model that the tool would never hear of.
fn models_untold(config: &Config, tree: &Node) -> Vec<Finding> {
    let untold = config.agents.iter().filter_map(|(name, agent)| {
        agent.model.as_ref()?;
        let preset = agent.preset.as_deref().and_then(Preset::named)?;
        let deaf = preset.model_option.is_empty() && agent.command.is_empty();
        let message = format!(
            "{} takes no model on its command line; set it in the tool's own configuration",
            preset.name
        );
        deaf.then(|| at(tree, &["agents", name, "model"], message))
    });
    untold.collect()
}

/// A fallback is another configured agent, and no way of fallbacks leads back to where it began.
fn fallbacks(config: &Config, tree: &Node) -> Vec<Finding> {
    let configured: Vec<&str> = config.agents.keys().map(String::as_str).collect();
    let list = |name: &str| {
        config
            .agents
            .get(name)
            .map_or(&[][..], |agent| &agent.fallback)
    };
    let mut findings = Vec::new();
    for (name, agent) in &config.agents {
        let unknown = |other: &&String| !config.agents.contains_key(*other);
        let messages = agent.fallback.iter().filter(unknown).map(|other| {
            let preset = Preset::named(other);
            let remedy = preset
                .map(|preset| format!("; add [agents.{other}] with preset = \"{}\"", preset.name));
            unknown_agent(other, &configured) + &remedy.unwrap_or_default()
        });
        let path = ["agents", name, "fallback"];
        findings.extend(messages.map(|message| at(tree, &path, message)));
    }
    let circle = config.agents.keys().find_map(|name| circle(name, &list));
    if let Some(way) = circle {
        let message = format!("goes round in a circle: {}", way.join(" → "));
        findings.push(at(tree, &["agents", way[0], "fallback"], message));
    }
    findings
}

/// A key needs a variable to be handed over in.
fn keys(config: &Config, tree: &Node) -> Vec<Finding> {
    let nameless = config
        .agents
        .iter()
        .filter(|(_, agent)| agent.api_key_file.is_some() && agent.key_variable().is_none());
    nameless
        .map(|(name, _)| Finding {
            place: tree
                .place_of(&["agents", name, "api_key_file"])
                .cloned()
                .unwrap_or_default(),
            key: format!("agents.{name}.api_key_env"),
            message: "is missing: name the variable in which the agent looks for its key"
                .to_owned(),
        })
        .collect()
}

fn inboxes_twice(config: &Config, tree: &Node) -> Vec<Finding> {
    let paths: Vec<&Path> = config
        .inboxes
        .iter()
        .map(|inbox| inbox.path.as_path())
        .collect();
    let repeated = (0..paths.len()).filter(|index| paths[..*index].contains(&paths[*index]));
    repeated
        .map(|index| Finding {
            place: items(tree, "inboxes")
                .get(index)
                .and_then(|inbox| inbox.place_of(&["path"]).cloned())
                .unwrap_or(Place::Unknown),
            key: format!("inboxes[{index}].path"),
            message: format!("{} is an inbox already", paths[index].display()),
        })
        .collect()
}

/// The tables of a list such as `[[inboxes]]`.
fn items<'t>(tree: &'t Node, section: &str) -> &'t [Node] {
    match tree.entry(section).map(|entry| &entry.node.value) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}
