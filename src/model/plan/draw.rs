//! A plan as a picture for a terminal: one line a task, with rails from each task down to those that need its result. Beyond what rails
//! can show, a table. It must not know colours or the terminal; it is told the width.

use super::{Graph, PlanTask};

/// More tasks than this are a list, not a picture.
const MAX_DRAWN_TASKS: usize = 30;
/// With less room than this for the descriptions, the rails are in the way.
const LEAST_DESCRIPTION_CHARS: usize = 16;
const GAP: &str = "  ";

/// The picture of a plan, its lines at most `width` characters long.
pub fn draw(tasks: &[PlanTask], width: usize) -> String {
    let graph = Graph::of(tasks);
    let sorted = graph.sorted();
    // A plan with a circle was never accepted; shown all the same, it is shown whole.
    if tasks.len() > MAX_DRAWN_TASKS || sorted.len() < tasks.len() {
        return table(tasks, &graph, width);
    }
    let rails = Rails::of(&graph, tasks, &sorted);
    let rail_chars = rails
        .iter()
        .map(|row| row.chars().count())
        .max()
        .unwrap_or(0);
    let labels = Columns::of(tasks);
    if rail_chars + GAP.len() + labels.chars() + LEAST_DESCRIPTION_CHARS > width {
        return table(tasks, &graph, width);
    }
    let rows = sorted.iter().zip(rails).map(|(&place, rail)| {
        let task = &tasks[place];
        let line = format!(
            "{rail:rail_chars$}{GAP}{}{}",
            labels.of_task(task),
            description(task)
        );
        cut(&line, width)
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// The widths of what stands before the description.
struct Columns {
    order: usize,
    kind: usize,
}

impl Columns {
    fn of(tasks: &[PlanTask]) -> Columns {
        let longest = |length: fn(&PlanTask) -> usize| tasks.iter().map(length).max().unwrap_or(0);
        Columns {
            order: longest(|task| task.order.to_string().len()),
            kind: longest(|task| task.kind.as_str().len()),
        }
    }

    fn chars(&self) -> usize {
        self.order + self.kind + 2 * GAP.len()
    }

    fn of_task(&self, task: &PlanTask) -> String {
        format!(
            "{:>2$}{GAP}{:3$}{GAP}",
            task.order, task.kind, self.order, self.kind
        )
    }
}

fn table(tasks: &[PlanTask], graph: &Graph, width: usize) -> String {
    let layers = graph.layer_of_each();
    let columns = Columns::of(tasks);
    let order_chars = columns.order.max("task".len());
    let kind_chars = columns.kind.max("type".len());
    let after: Vec<String> = tasks.iter().map(after).collect();
    let after_chars = after
        .iter()
        .map(|text| text.chars().count())
        .max()
        .unwrap_or(0)
        .max("after".len());
    let line = |layer: &str, order: &str, kind: &str, after: &str, description: &str| {
        let line = format!(
            "{layer:>5}{GAP}{order:>order_chars$}{GAP}{kind:kind_chars$}{GAP}{after:after_chars$}{GAP}{description}"
        );
        cut(line.trim_end(), width)
    };
    let mut lines = vec![line("layer", "task", "type", "after", "what")];
    let mut places: Vec<usize> = (0..tasks.len()).collect();
    places.sort_by_key(|&place| (layers[place], tasks[place].order));
    for place in places {
        let task = &tasks[place];
        lines.push(line(
            &(layers[place] + 1).to_string(),
            &task.order.to_string(),
            task.kind.as_str(),
            &after[place],
            &description(task),
        ));
    }
    lines.join("\n")
}

/// The dependencies, the first of many.
fn after(task: &PlanTask) -> String {
    const MAX_SHOWN: usize = 4;
    let shown: Vec<String> = task
        .depends_on
        .iter()
        .take(MAX_SHOWN)
        .map(u32::to_string)
        .collect();
    match task.depends_on.len().saturating_sub(MAX_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} +{more}", shown.join(", ")),
    }
}

/// On one line, harmless on a terminal, with the agent where it is not the session's own.
fn description(task: &PlanTask) -> String {
    let words: Vec<&str> = task
        .description
        .split(|letter: char| letter.is_whitespace() || letter.is_control())
        .collect();
    let line = words
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    let agent = task.agent.as_ref().map(|agent| format!("@{agent}: "));
    let agent = agent.unwrap_or_default().replace(char::is_control, "?");
    format!("{agent}{line}")
}

fn cut(text: &str, max_chars: usize) -> String {
    if text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max_chars.saturating_sub(1)).collect();
    format!("{kept}{}", if max_chars > 0 { "…" } else { "" })
}

/// The rails while they are laid: each carries one task's result to whoever still needs it.
struct Rails<'g> {
    graph: &'g Graph,
    /// The task whose result each column carries.
    columns: Vec<Option<usize>>,
    /// How many tasks still need each result.
    needed_by: Vec<usize>,
    /// The column of a task that nobody needs, on the line above: what stood under it would seem to need it.
    end_above: Option<usize>,
}

impl Rails<'_> {
    /// The rails of each line, for tasks in this order.
    fn of(graph: &Graph, tasks: &[PlanTask], sorted: &[usize]) -> Vec<String> {
        let mut rails = Rails {
            graph,
            columns: Vec::new(),
            needed_by: graph.dependents.iter().map(Vec::len).collect(),
            end_above: None,
        };
        sorted
            .iter()
            .map(|&place| rails.line(place, tasks[place].critical))
            .collect()
    }

    fn line(&mut self, place: usize, critical: bool) -> String {
        let graph = self.graph;
        let dependencies = &graph.dependencies[place];
        for &dependency in dependencies {
            self.needed_by[dependency] -= 1;
        }
        let joined: Vec<usize> = (0..self.columns.len())
            .filter(|&column| {
                self.columns[column].is_some_and(|owner| dependencies.contains(&owner))
            })
            .collect();
        let own = self.own_column(&joined);
        if own >= self.columns.len() {
            self.columns.resize(own + 1, None);
        }
        let first = joined.iter().copied().min().unwrap_or(own).min(own);
        let last = joined.iter().copied().max().unwrap_or(own).max(own);
        let mut line = String::new();
        for column in 0..self.columns.len() {
            line.push(match column == own {
                true if critical => '◆',
                true => '●',
                false => self.mark(column, first, last, joined.contains(&column)),
            });
            line.push(if (first..last).contains(&column) {
                '─'
            } else {
                ' '
            });
        }
        for column in joined {
            self.columns[column] = self.columns[column].filter(|&owner| self.needed_by[owner] > 0);
        }
        let needed = self.needed_by[place] > 0;
        self.columns[own] = needed.then_some(place);
        self.end_above = (!needed).then_some(own);
        while self.columns.last() == Some(&None) {
            self.columns.pop();
        }
        line.trim_end().to_owned()
    }

    /// Under a result that only this task still needs; else in the first free column.
    fn own_column(&self, joined: &[usize]) -> usize {
        let taken_over = joined.iter().copied().find(|&column| !self.goes_on(column));
        let free = |&column: &usize| {
            self.columns.get(column).is_none_or(Option::is_none) && self.end_above != Some(column)
        };
        taken_over
            .or_else(|| (0..).find(free))
            .unwrap_or(self.columns.len())
    }

    fn goes_on(&self, column: usize) -> bool {
        self.columns[column].is_some_and(|owner| self.needed_by[owner] > 0)
    }

    fn mark(&self, column: usize, first: usize, last: usize, joined: bool) -> char {
        if !joined {
            // A rail that is only crossed stays whole.
            return match self.columns[column] {
                Some(_) => '│',
                None if (first..=last).contains(&column) => '─',
                None => ' ',
            };
        }
        match (self.goes_on(column), column > first, column < last) {
            (true, false, _) => '├',
            (true, true, false) => '┤',
            (true, true, true) => '┼',
            (false, false, _) => '╰',
            (false, true, false) => '╯',
            (false, true, true) => '┴',
        }
    }
}
