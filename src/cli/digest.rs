//! `ralphd digest`: the morning paper, on the terminal or as plain lines. It only looks.

use super::desk::Desk;
use super::exit::Exit;
use super::output::{self, Look, Style, cut, harmless};
use super::table::Table;
use crate::clock::now_ms;
use crate::model::period::Period;
use crate::report::digest::{Digest, Paper, Section, Tone};
use crate::store::review::Span;
use anyhow::Result;
use jiff::tz::TimeZone;

/// So far it looks back where nothing else is said.
const A_NIGHT: Period = Period::from_hours(12);
const INDENT: &str = "  ";
const NOTE_INDENT: &str = "            ";
/// Columns of the widest section. None of them has a title: each line says what it is.
const COLUMNS: &[&str] = &["", "", "", "", "", ""];
/// The column that may be cut.
const FLEXIBLE: usize = 1;
/// On a narrow terminal these are done without, in this order.
const EXPENDABLE: &[usize] = &[3, 2, 4];

/// Prints what happened since a while ago, and what stands open.
pub fn digest(desk: Desk, since: Option<Period>) -> Result<Exit> {
    let since = since.unwrap_or(A_NIGHT);
    let store = desk.existing_store()?;
    let until_ms = now_ms();
    let span = Span {
        since_ms: until_ms - since.as_millis(),
        until_ms,
    };
    let digest = desk.block_on(store.read(move |sql| Digest::of(sql, span)))?;
    if desk.global.json {
        output::print_json(&digest)?;
        return Ok(Exit::Done);
    }
    let paper = Paper::of(&digest, &TimeZone::system());
    output::print_lines(&lines(&paper, &Look::of_stdout()))?;
    Ok(Exit::Done)
}

fn lines(paper: &Paper, look: &Look) -> Vec<String> {
    let mut lines = vec![
        look.paint(Style::Dim, &fit(&paper.date, look, 0)),
        look.paint(Style::Bold, &fit(&paper.headline, look, 0)),
    ];
    for section in &paper.sections {
        lines.push(String::new());
        lines.extend(section_lines(section, look));
    }
    lines
}

fn section_lines(section: &Section, look: &Look) -> Vec<String> {
    let style = match section.tone {
        Tone::Plain => Style::Bold,
        Tone::Good => Style::Good,
        Tone::Notice => Style::Notice,
        Tone::Bad => Style::Bad,
    };
    let mut lines = vec![look.paint(style, &fit(&section.title, look, 0))];
    let inside = Look {
        width: look.width.map(|width| width.saturating_sub(INDENT.len())),
        ..*look
    };
    let mut table = Table::new(COLUMNS, FLEXIBLE).expending(EXPENDABLE);
    for row in &section.rows {
        let mut cells: Vec<_> = row.cells.iter().map(|cell| cell.as_str().into()).collect();
        cells.resize_with(COLUMNS.len(), || "".into());
        table.row(cells);
    }
    // The line of titles is empty.
    let rows = table.lines(&inside).into_iter().skip(1);
    for (row, line) in section.rows.iter().zip(rows) {
        lines.push(format!("{INDENT}{line}"));
        for note in &row.notes {
            let note = fit(note, look, NOTE_INDENT.len());
            lines.push(format!("{NOTE_INDENT}{}", look.paint(Style::Dim, &note)));
        }
    }
    if section.more > 0 {
        let more = format!("{INDENT}… and {} more", section.more);
        lines.push(look.paint(Style::Dim, &more));
    }
    lines
}

/// As much of a line as the terminal holds beside an indent.
fn fit(text: &str, look: &Look, indent: usize) -> String {
    let text = harmless(text);
    match look.width {
        Some(width) => cut(&text, width.saturating_sub(indent)),
        None => text,
    }
}
