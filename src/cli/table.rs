//! Rows under titles, made to fit the terminal. It must not know what is in them.

use super::output::{Look, Style, cut, harmless};

/// The flexible column is never cut below this, however narrow the terminal.
const LEAST_FLEXIBLE_CHARS: usize = 20;
/// Nor is the widest of the other columns cut below this.
const LEAST_WIDEST_CHARS: usize = 16;
const GAP: &str = "  ";

/// One field of a table.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    style: Style,
}

impl From<(String, Style)> for Cell {
    fn from((text, style): (String, Style)) -> Self {
        Self {
            text: harmless(&text),
            style,
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        (text, Style::Plain).into()
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Rows under titles. One column gives way where the terminal is too narrow, then the widest of the others, then those go that can be
/// done without; columns with nothing in them are left out.
pub struct Table {
    titles: Vec<&'static str>,
    flexible: usize,
    expendable: &'static [usize],
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table; `flexible` is the position of the column that is cut to fit.
    pub fn new(titles: &[&'static str], flexible: usize) -> Self {
        Self {
            titles: titles.to_vec(),
            flexible,
            expendable: &[],
            rows: Vec::new(),
        }
    }

    /// The columns that can be done without on a narrow terminal, the least important first.
    pub fn expending(mut self, columns: &'static [usize]) -> Self {
        self.expendable = columns;
        self
    }

    /// Adds a row, one cell for each title.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// The table as lines: the titles first.
    pub fn lines(&self, look: &Look) -> Vec<String> {
        let widths = self.widths(look.width);
        let titles = self
            .titles
            .iter()
            .map(|title| ((*title).to_owned(), Style::Dim).into())
            .collect();
        std::iter::once(&titles)
            .chain(&self.rows)
            .map(|cells: &Vec<Cell>| line(cells, &widths, look))
            .collect()
    }

    /// The width of each column; zero leaves it out.
    fn widths(&self, limit: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..self.titles.len())
            .map(|column| {
                let texts = self.rows.iter().filter_map(|row| row.get(column));
                let widest = texts
                    .map(|cell| cell.text.chars().count())
                    .max()
                    .unwrap_or(0);
                if widest == 0 {
                    0
                } else {
                    widest.max(self.titles[column].chars().count())
                }
            })
            .collect();
        let Some(limit) = limit else {
            return widths;
        };
        let mut narrowed = self.narrowed(&widths, limit);
        for column in self.expendable {
            if total(&narrowed) <= limit {
                break;
            }
            widths[*column] = 0;
            narrowed = self.narrowed(&widths, limit);
        }
        narrowed
    }

    fn narrowed(&self, widths: &[usize], limit: usize) -> Vec<usize> {
        let mut widths = widths.to_vec();
        give_way(&mut widths, self.flexible, limit, LEAST_FLEXIBLE_CHARS);
        let widest = (0..widths.len())
            .filter(|column| *column != self.flexible)
            .max_by_key(|column| widths[*column]);
        if let Some(widest) = widest {
            give_way(&mut widths, widest, limit, LEAST_WIDEST_CHARS);
        }
        widths
    }
}

/// How wide a line is.
fn total(widths: &[usize]) -> usize {
    let shown = widths.iter().filter(|width| **width > 0).count();
    widths.iter().sum::<usize>() + GAP.len() * shown.saturating_sub(1)
}

/// Narrows one column so that all fit, but not below `least`.
fn give_way(widths: &mut [usize], column: usize, limit: usize, least: usize) {
    let narrowed = widths[column].saturating_sub(total(widths).saturating_sub(limit));
    widths[column] = narrowed.max(least.min(widths[column]));
}

fn line(cells: &[Cell], widths: &[usize], look: &Look) -> String {
    let mut line = String::new();
    let mut owed = 0;
    for (cell, width) in cells.iter().zip(widths).filter(|(_, width)| **width > 0) {
        let text = cut(&cell.text, *width);
        // Spaces are written only once something follows them.
        if !text.is_empty() {
            line.push_str(&" ".repeat(owed));
            owed = 0;
        }
        owed += width - text.chars().count() + GAP.len();
        line.push_str(&look.paint(cell.style, &text));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Look = Look {
        terminal: false,
        colours: false,
        width: None,
    };

    #[test]
    fn one_column_gives_way_and_empty_ones_are_left_out() {
        let mut table = Table::new(&["ID", "COST", "OBJECTIVE", "AGE"], 2);
        table.row(vec![
            "aa".into(),
            "".into(),
            "a rather long objective indeed".into(),
            "3m".into(),
        ]);
        table.row(vec![
            "bbbb".into(),
            "".into(),
            "short\x1b".into(),
            "".into(),
        ]);
        assert_eq!(
            table.lines(&PLAIN),
            [
                "ID    OBJECTIVE                       AGE",
                "aa    a rather long objective indeed  3m",
                "bbbb  short␛",
            ]
        );
        for width in [32, 36, 40] {
            let look = Look {
                width: Some(width),
                ..PLAIN
            };
            let lines = table.lines(&look);
            assert!(
                lines.iter().all(|line| line.chars().count() <= width),
                "{width}: {lines:#?}"
            );
            assert!(lines[1].contains('…'));
        }
        let narrow = Look {
            width: Some(5),
            ..PLAIN
        };
        assert_eq!(table.lines(&narrow)[1], "aa    a rather long objec…  3m");
    }

    #[test]
    fn then_the_widest_of_the_others_gives_way() {
        let mut table = Table::new(&["A", "STATUS", "OBJECTIVE"], 2);
        table.row(vec![
            "a".into(),
            "s".repeat(60).into(),
            "o".repeat(60).into(),
        ]);
        let lines = table.lines(&Look {
            width: Some(60),
            ..PLAIN
        });
        assert_eq!(
            lines[1],
            format!("a  {}…  {}…", "s".repeat(34), "o".repeat(19))
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 60));
    }

    #[test]
    fn what_can_be_done_without_goes_last() {
        let mut table = Table::new(&["ID", "AGENT", "COST", "OBJECTIVE"], 3).expending(&[2, 1]);
        table.row(vec![
            "12345678".into(),
            "an-agent-of-many-words".into(),
            "$1.00".into(),
            "o".repeat(60).into(),
        ]);
        for (width, has_cost, has_agent) in [
            (60, true, true),
            (55, true, true),
            (50, false, true),
            (40, false, false),
        ] {
            let look = Look {
                width: Some(width),
                ..PLAIN
            };
            let line = &table.lines(&look)[1];
            assert_eq!(line.chars().count(), width, "{line}");
            assert_eq!(line.contains("$1.00"), has_cost, "{line}");
            assert_eq!(line.contains("an-agent"), has_agent, "{line}");
        }
    }
}
