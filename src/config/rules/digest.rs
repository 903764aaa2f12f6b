//! What must hold of the digest beyond the form of its keys: a zone that exists, and somebody who gets it.

use super::{at, unknown_target};
use crate::config::Config;
use crate::model::document::{Finding, Node};

pub(super) fn broken(config: &Config, tree: &Node) -> Vec<Finding> {
    let digest = &config.digest;
    let mut findings = Vec::new();
    if let Err(message) = digest.zone() {
        findings.push(at(tree, &["digest", "timezone"], message));
    }
    if digest.cron.is_some() && digest.notify.is_empty() {
        let message = "needs somebody to send it to: notify = [ … ]".to_owned();
        findings.push(at(tree, &["digest", "cron"], message));
    }
    if digest.cron.is_none() && !digest.notify.is_empty() {
        let message = "says to whom, but cron = \"…\" does not say when".to_owned();
        findings.push(at(tree, &["digest", "notify"], message));
    }
    let known: Vec<&str> = config.notify.keys().map(String::as_str).collect();
    let unknown = digest.notify.iter();
    for name in unknown.filter(|name| !config.notify.contains_key(*name)) {
        let message = unknown_target(name, &known);
        findings.push(at(tree, &["digest", "notify"], message));
    }
    findings
}
