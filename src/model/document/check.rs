//! Compares a placed tree with a shape, collects everything that is wrong, and gives back what is right
//! as JSON. It changes no value and fills in none.

use serde_json::{Map, Number, Value as Json};

use super::shape::{Kind, ListShape, Range, Shape, TableShape, TextShape};
use super::{Entry, Finding, Node, Place, Value, excerpt, format};
use crate::model::nearest::nearest;

/// No table of ours has more; to compare all keys of a stranger's larger one with each other could take minutes.
const MAX_KEYS: u64 = 1000;

/// The right parts of `node` as JSON (none when it is wrong as a whole), and all findings.
pub fn check(node: &Node, shape: &Shape) -> (Option<Json>, Vec<Finding>) {
    let mut checker = Checker::default();
    let json = checker.value(&node.place, &node.value, shape);
    (json, checker.findings)
}

fn unknown_key(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("unknown key; did you mean {near}?"),
        None => format!("unknown key; known: {}", known.join(", ")),
    }
}

#[derive(Default)]
struct Checker {
    path: String,
    findings: Vec<Finding>,
}

impl Checker {
    fn report(&mut self, place: &Place, message: String) {
        self.findings.push(Finding {
            place: place.clone(),
            key: self.path.clone(),
            message,
        });
    }

    fn within<T>(&mut self, step: &str, act: impl FnOnce(&mut Checker) -> T) -> T {
        let length = self.path.len();
        if length > 0 && !step.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(step);
        let outcome = act(self);
        self.path.truncate(length);
        outcome
    }

    fn value(&mut self, place: &Place, value: &Value, shape: &Shape) -> Option<Json> {
        match (&shape.kind, value) {
            (_, Value::Null) if shape.nullable => Some(Json::Null),
            (
                Kind::Text(wanted)
                | Kind::Table(TableShape {
                    or_text: Some(wanted),
                    ..
                }),
                Value::Text(text),
            ) => self.text(place, text, wanted),
            (Kind::Text(wanted), Value::Datetime(text))
                if wanted.format.as_deref() == Some("date-time") =>
            {
                self.text(place, text, wanted)
            }
            (Kind::Integer(range), Value::Integer(number)) => self.integer(place, *number, range),
            (Kind::Number(range), Value::Integer(number)) => {
                self.number(place, *number as f64, range)
            }
            (Kind::Number(range), Value::Float(number)) => self.number(place, *number, range),
            (Kind::Boolean, Value::Boolean(value)) => Some(Json::Bool(*value)),
            (Kind::List(wanted), Value::List(items)) => self.list(place, items, wanted),
            (Kind::List(wanted), one @ Value::Text(_)) if wanted.or_one => {
                let item = self.value(place, one, &wanted.item)?;
                Some(Json::Array(vec![item]))
            }
            (Kind::Table(wanted), Value::Table(entries)) => self.table(place, entries, wanted),
            (kind, value) => {
                self.report(place, wrong_type(kind, value, place));
                None
            }
        }
    }

    fn text(&mut self, place: &Place, text: &str, wanted: &TextShape) -> Option<Json> {
        let fault = if wanted.choices.is_empty() {
            let format = wanted.format.as_deref().unwrap_or_default();
            let tested = format::check(format, text);
            tested
                .err()
                .or_else(|| too_long(text, wanted.longest_characters))
        } else if wanted.choices.iter().any(|choice| choice == text) {
            None
        } else {
            Some(format!(
                "must be {}, is {}",
                one_of(&wanted.choices),
                excerpt(text)
            ))
        };
        match fault {
            None => Some(Json::String(text.to_owned())),
            Some(message) => {
                self.report(place, message);
                None
            }
        }
    }

    fn integer(&mut self, place: &Place, number: i128, range: &Range) -> Option<Json> {
        let least = range.least.as_ref().and_then(Number::as_i128);
        let most = range.most.as_ref().and_then(Number::as_i128);
        let inside =
            least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most);
        match Number::from_i128(number) {
            Some(json) if inside => Some(Json::Number(json)),
            _ => {
                self.report(place, out_of_range(range, number));
                None
            }
        }
    }

    fn number(&mut self, place: &Place, number: f64, range: &Range) -> Option<Json> {
        let bound = |bound: &Option<Number>| bound.as_ref().and_then(Number::as_f64);
        let inside = bound(&range.least).is_none_or(|least| number >= least)
            && bound(&range.more_than).is_none_or(|least| number > least)
            && bound(&range.most).is_none_or(|most| number <= most);
        match Number::from_f64(number) {
            Some(json) if inside => Some(Json::Number(json)),
            _ => {
                self.report(place, out_of_range(range, number));
                None
            }
        }
    }

    fn list(&mut self, place: &Place, items: &[Node], wanted: &ListShape) -> Option<Json> {
        let count = items.len() as u64;
        if count < wanted.fewest {
            self.report(
                place,
                format!("must have at least {}, has {count}", entries(wanted.fewest)),
            );
            return None;
        }
        if let Some(most) = wanted.most.filter(|most| count > *most) {
            self.report(
                place,
                format!("must have at most {}, has {count}", entries(most)),
            );
            return None;
        }
        let mut json = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let step = format!("[{index}]");
            json.extend(self.within(&step, |checker| {
                checker.value(&item.place, &item.value, &wanted.item)
            }));
        }
        (json.len() >= wanted.fewest as usize).then_some(Json::Array(json))
    }

    fn table(&mut self, place: &Place, given: &[Entry], wanted: &TableShape) -> Option<Json> {
        let most = wanted.most.unwrap_or(MAX_KEYS);
        if given.len() as u64 > most {
            self.report(
                place,
                format!("must have at most {}, has {}", entries(most), given.len()),
            );
            return None;
        }
        let mut json = Map::new();
        for (index, entry) in given.iter().enumerate() {
            let first = given[..index]
                .iter()
                .find(|earlier| earlier.name == entry.name);
            let value = self.within(&entry.name, |checker| checker.entry(entry, first, wanted));
            if let Some(value) = value {
                json.insert(entry.name.clone(), value);
            }
        }
        let mut complete = true;
        for name in &wanted.required {
            if !given.iter().any(|entry| entry.name == *name) {
                self.within(name, |checker| checker.report(place, "missing".to_owned()));
            }
            complete &= json.contains_key(name);
        }
        complete.then_some(Json::Object(json))
    }

    fn entry(&mut self, entry: &Entry, first: Option<&Entry>, wanted: &TableShape) -> Option<Json> {
        if let Some(first) = first {
            let before = first
                .place
                .line()
                .map(|line| format!(", first on line {line}"));
            self.report(
                &entry.place,
                format!("given twice{}", before.unwrap_or_default()),
            );
            return None;
        }
        if let Some(shape) = wanted.field(&entry.name) {
            return self.value(&entry.place, &entry.node.value, shape);
        }
        let Some(shape) = &wanted.rest else {
            let known: Vec<&str> = wanted.names().collect();
            self.report(&entry.place, unknown_key(&entry.name, &known));
            return None;
        };
        let format = wanted.name_format.as_deref().unwrap_or_default();
        if let Err(message) = format::check(format, &entry.name) {
            self.report(&entry.place, message);
            return None;
        }
        self.value(&entry.place, &entry.node.value, shape)
    }
}

fn wrong_type(kind: &Kind, value: &Value, place: &Place) -> String {
    let wanted = match kind {
        Kind::Text(text) if !text.choices.is_empty() => one_of(&text.choices),
        Kind::Text(text)
            if matches!(text.format.as_deref(), Some("period" | "positive-period")) =>
        {
            "a duration such as 90s, 30m, 8h or 7d".to_owned()
        }
        Kind::Text(_) => "text".to_owned(),
        Kind::Integer(_) => "a whole number".to_owned(),
        Kind::Number(_) => "a number".to_owned(),
        Kind::Boolean => "true or false".to_owned(),
        Kind::List(_) => "a list".to_owned(),
        Kind::Table(TableShape {
            or_text: Some(_), ..
        }) => "a table of keys or the path of a file".to_owned(),
        Kind::Table(_) => "a table of keys".to_owned(),
        Kind::Anything => "nothing at all".to_owned(),
    };
    let in_file = !matches!(place, Place::Variable(_));
    let advice = match (kind, value) {
        (
            Kind::Text(text),
            Value::Boolean(_) | Value::Integer(_) | Value::Float(_) | Value::Datetime(_),
        ) if in_file && text.choices.is_empty() && !wanted.starts_with("a duration") => {
            "; put it in quotes"
        }
        (Kind::Integer(_) | Kind::Number(_), Value::Text(text))
            if in_file && text.parse::<f64>().is_ok() =>
        {
            "; write it without quotes"
        }
        _ => "",
    };
    format!("must be {wanted}, is {value}{advice}")
}

fn too_long(text: &str, most: Option<u64>) -> Option<String> {
    let count = text.chars().count() as u64;
    let most = most.filter(|most| count > *most)?;
    Some(format!("must have at most {most} characters, has {count}"))
}

fn out_of_range(range: &Range, number: impl std::fmt::Display) -> String {
    let wanted = match (&range.least, &range.more_than, &range.most) {
        (Some(least), _, Some(most)) => format!("between {least} and {most}"),
        (None, Some(least), Some(most)) => format!("more than {least} and at most {most}"),
        (Some(least), _, None) => format!("at least {least}"),
        (None, Some(least), None) => format!("more than {least}"),
        (None, None, Some(most)) => format!("at most {most}"),
        (None, None, None) => "a number of ordinary size".to_owned(),
    };
    format!("must be {wanted}, is {number}")
}

fn one_of(choices: &[String]) -> String {
    let quoted: Vec<String> = choices.iter().map(|choice| format!("{choice:?}")).collect();
    quoted.join(" or ")
}

fn entries(count: u64) -> String {
    match count {
        1 => "1 entry".to_owned(),
        _ => format!("{count} entries"),
    }
}
