//! What must hold of schedules beyond the form of their keys: names of their own, zones that exist, and requests that can be repeated.

use super::super::{Config, ScheduledRequest};
use super::items;
use crate::model::document::{Finding, Node};
use crate::model::schedule::key_of_its_own;

pub(super) fn broken(config: &Config, tree: &Node) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A schedule that is wrong in itself is not among the others: each is found again by its name.
    for (index, node) in items(tree, "schedules").iter().enumerate() {
        let find = |path: &[&str], message: String| Finding {
            place: node.place_of(path).cloned().unwrap_or_default(),
            key: format!("schedules[{index}].{}", path.join(".")),
            message,
        };
        let name = text_of(node, "name");
        let earlier = &items(tree, "schedules")[..index];
        if name.is_some() && earlier.iter().any(|other| text_of(other, "name") == name) {
            let message = format!("there is a schedule {} already", name.unwrap_or_default());
            findings.push(find(&["name"], message));
            continue;
        }
        let schedule = config
            .schedules
            .iter()
            .find(|schedule| Some(schedule.name.as_str()) == name);
        let Some(schedule) = schedule else {
            continue;
        };
        if let Err(message) = schedule.zone() {
            findings.push(find(&["timezone"], message));
        }
        let key = match &schedule.request {
            ScheduledRequest::Inline(request) => key_of_its_own(request),
            ScheduledRequest::File(_) => None,
        };
        findings.extend(key.map(|key| {
            let message = "is set by the schedule, for each start anew; leave it out".to_owned();
            find(&["request", key], message)
        }));
    }
    findings
}

fn text_of<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    match &node.entry(key)?.node.value {
        crate::model::document::Value::Text(text) => Some(text),
        _ => None,
    }
}
