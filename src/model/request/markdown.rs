//! Splits a Markdown request into front matter and objective, and makes one tree of both.

use super::{Problem, Problems};
use crate::model::document::{Entry, Node, Place, Value, yaml};

/// Front matter holds settings; long text belongs below it.
const FRONT_MATTER_BYTES: usize = 64 * 1024;

/// The request as a tree in which every key has its line in the whole file.
pub(super) fn parse(text: &str) -> Result<Node, Problems> {
    let text = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .replace("\r\n", "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    let opening = lines.iter().position(|line| !line.trim().is_empty());
    match opening {
        Some(opening) if lines[opening].trim_end() == "---" => with_front_matter(&lines, opening),
        _ => {
            let mut entries = Vec::new();
            add_objective(&mut entries, &lines, 0);
            Ok(Node::new(Place::Unknown, Value::Table(entries)))
        }
    }
}

fn with_front_matter(lines: &[&str], opening: usize) -> Result<Node, Problems> {
    let is_closing = |line: &&str| matches!(line.trim_end(), "---" | "...");
    let Some(length) = lines[opening + 1..].iter().position(is_closing) else {
        return Err(Problem::at_line(
            opening + 1,
            "the front matter that --- opens is never closed; end it with a line ---, or leave out the first --- if the file is only an objective",
        )
        .into());
    };
    let closing = opening + 1 + length;
    let front_matter = lines[opening + 1..closing].join("\n");
    if front_matter.len() > FRONT_MATTER_BYTES {
        return Err(Problem::at_line(
            opening + 1,
            format!(
                "the front matter has {} bytes, at most {FRONT_MATTER_BYTES} are read; put the objective below it",
                front_matter.len()
            ),
        )
        .into());
    }
    let mut node = yaml::parse(&front_matter, opening + 1)?;
    let Value::Table(entries) = &mut node.value else {
        let message = format!(
            "the front matter must be lines of `key: value`, is {}",
            node.value
        );
        return Err(Problem::at_line(opening + 2, message).into());
    };
    add_objective(entries, lines, closing + 1);
    // A missing key is missing from the file, not from the line where the front matter begins.
    node.place = Place::Unknown;
    Ok(node)
}

/// The text from line index `start` on is the objective. None, or a second one beside that of the front
/// matter, is for the checker to report.
fn add_objective(entries: &mut Vec<Entry>, lines: &[&str], start: usize) {
    let body = &lines[start..];
    let Some(blank) = body.iter().position(|line| !line.trim().is_empty()) else {
        return;
    };
    let place = Place::Line(start + blank + 1);
    entries.push(Entry {
        name: "objective".to_owned(),
        place: place.clone(),
        node: Node::new(place, Value::Text(body.join("\n").trim().to_owned())),
    });
}
