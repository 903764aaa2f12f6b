//! Makes plain what a sloppy author meant, before the checker looks: numbers in quotes, one dependency without a list, other names for a
//! type. Only where there is a single meaning; everything else stays as it was written, for the checker to report.

use crate::model::document::{Entry, Node, Shape, Value, shape::Kind};
use crate::model::nearest::nearest;
use crate::model::policy::OnFailure;
use crate::model::task::TaskKind;

/// Who wrote the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A model: other known names of keys are understood, and what nobody asked for is dropped.
    Planner,
    /// A person, who wants to hear of every unknown key.
    Person,
}

/// Other words for a type.
const TYPES: [(&str, TaskKind); 3] = [
    ("discovery", TaskKind::Analysis),
    ("query", TaskKind::SqlQuery),
    ("aggregation", TaskKind::SqlAggregate),
];

/// Other names of keys that planners are known to use, the better one first.
const KEYS: [(&str, &str); 9] = [
    ("task_order", "order"),
    ("task_type", "type"),
    ("task_description", "description"),
    ("depends_on_order", "depends_on"),
    ("is_critical", "critical"),
    ("target_file_id", "target"),
    ("target_file_name", "target"),
    ("sql_template", "sql"),
    ("sql_query", "sql"),
];

/// Keys whose blank text is the same as none.
const OPTIONAL_TEXTS: [&str; 8] = [
    "agent",
    "target",
    "sql",
    "filter",
    "command",
    "expected_output",
    "reasoning",
    "on_failure",
];

/// Nothing larger is tidied: the checker refuses it, and comparing all its parts with each other could take minutes.
const MAX_PARTS: usize = 1000;

/// Tidies one task.
pub(super) fn task(node: &mut Node, shape: &Shape, origin: Origin) {
    let Value::Table(entries) = &mut node.value else {
        return;
    };
    if entries.len() > MAX_PARTS {
        return;
    }
    entries.retain(|entry| !is_nothing(entry));
    if origin == Origin::Planner {
        rename(entries);
        drop_strange(entries, shape);
    }
    for entry in entries {
        let value = &mut entry.node.value;
        match entry.name.as_str() {
            "order" => number(value),
            "type" => word(value, type_word),
            "on_failure" => word(value, |word| {
                OnFailure::ALL
                    .iter()
                    .find(|known| known.as_str() == word)
                    .map(|known| known.as_str())
            }),
            "depends_on" => list(value),
            "critical" => boolean(value),
            _ => {}
        }
    }
}

fn is_nothing(entry: &Entry) -> bool {
    match &entry.node.value {
        Value::Null => true,
        Value::Text(text) => {
            OPTIONAL_TEXTS.contains(&entry.name.as_str()) && text.trim().is_empty()
        }
        _ => false,
    }
}

fn rename(entries: &mut Vec<Entry>) {
    for (other, name) in KEYS {
        let given = entries.iter().any(|entry| entry.name == name);
        if given {
            entries.retain(|entry| entry.name != other);
        } else if let Some(entry) = entries.iter_mut().find(|entry| entry.name == other) {
            entry.name = name.to_owned();
        }
    }
}

/// A key near to a known one was meant as that one: it stays, so that its author hears of it.
pub(super) fn drop_strange(entries: &mut Vec<Entry>, shape: &Shape) {
    let Kind::Table(table) = &shape.kind else {
        return;
    };
    if entries.len() > MAX_PARTS {
        return;
    }
    entries.retain(|entry| {
        table.field(&entry.name).is_some() || nearest(&entry.name, table.names()).is_some()
    });
}

fn type_word(word: &str) -> Option<&'static str> {
    let alias = TYPES
        .iter()
        .find(|(other, _)| *other == word)
        .map(|(_, kind)| *kind);
    let known = TaskKind::ALL
        .iter()
        .copied()
        .find(|kind| kind.may_be_planned() && kind.as_str() == word);
    alias.or(known).map(TaskKind::as_str)
}

fn word(value: &mut Value, known: impl Fn(&str) -> Option<&'static str>) {
    if let Value::Text(text) = value {
        let plain = text.trim().to_lowercase().replace(['-', ' '], "_");
        if let Some(word) = known(&plain) {
            *text = word.to_owned();
        }
    }
}

fn boolean(value: &mut Value) {
    if let Value::Text(text) = value {
        match text.trim().to_lowercase().as_str() {
            "true" | "yes" => *value = Value::Boolean(true),
            "false" | "no" => *value = Value::Boolean(false),
            _ => {}
        }
    }
}

fn number(value: &mut Value) {
    let plain = match value {
        Value::Text(text) => order(text),
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 1e9 => {
            Some(*number as i128)
        }
        _ => None,
    };
    if let Some(number) = plain {
        *value = Value::Integer(number);
    }
}

/// `3`, `#3`, `task 3`
fn order(text: &str) -> Option<i128> {
    let plain = text.trim().to_lowercase();
    let plain = plain
        .strip_prefix("task")
        .unwrap_or(&plain)
        .trim_start_matches(['_', '-', ' ', '#']);
    let digits = !plain.is_empty() && plain.bytes().all(|byte| byte.is_ascii_digit());
    plain.parse().ok().filter(|_| digits)
}

/// None, one or several orders, as a list without repeats.
fn list(value: &mut Value) {
    let items = match std::mem::replace(value, Value::Null) {
        Value::List(items) if items.len() <= MAX_PARTS => items,
        Value::Text(text) if text.len() <= MAX_PARTS => match orders(&text) {
            Some(orders) => orders,
            None => {
                *value = Value::Text(text);
                return;
            }
        },
        number @ (Value::Integer(_) | Value::Float(_)) => vec![placeless(number)],
        other => {
            *value = other;
            return;
        }
    };
    let mut kept: Vec<Node> = Vec::with_capacity(items.len());
    for mut item in items {
        number(&mut item.value);
        let repeated = kept.iter().any(|earlier| earlier.value == item.value);
        if !repeated && item.value != Value::Null {
            kept.push(item);
        }
    }
    *value = Value::List(kept);
}

/// `1, 2` and `none`; nothing where it is neither.
fn orders(text: &str) -> Option<Vec<Node>> {
    let text = text.trim();
    if matches!(
        text.to_lowercase().as_str(),
        "" | "none" | "null" | "-" | "[]"
    ) {
        return Some(Vec::new());
    }
    let parts = text
        .trim_start_matches('[')
        .trim_end_matches(']')
        .split(',');
    let numbers = parts.map(|part| Some(placeless(Value::Integer(order(part)?))));
    numbers.collect()
}

fn placeless(value: Value) -> Node {
    Node::new(crate::model::document::Place::Unknown, value)
}
