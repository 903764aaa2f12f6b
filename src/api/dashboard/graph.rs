//! A plan as a graph: its tasks in columns, each behind all that it depends on. Pure: it is given the tasks and says where each box and
//! each line goes; the template draws them.

use crate::model::harmless::{cut, first_line};
use crate::report::wording::task_in_words;
use crate::store::tasks::Assignment;
use serde::Serialize;
use std::collections::BTreeMap;

const BOX_WIDTH: i64 = 190;
const BOX_HEIGHT: i64 = 54;
const ACROSS: i64 = 46;
const DOWN: i64 = 18;
const MARGIN: i64 = 8;
/// A larger plan is a table only.
const MAX_TASKS: usize = 150;
const MAX_LABEL_CHARS: usize = 24;

#[derive(Debug, PartialEq, Serialize)]
pub struct Graph {
    width: i64,
    height: i64,
    box_width: i64,
    box_height: i64,
    boxes: Vec<TaskBox>,
    lines: Vec<String>,
    /// The same in words, for those who do not see it.
    words: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct TaskBox {
    x: i64,
    y: i64,
    order: i64,
    kind: &'static str,
    label: String,
    status: String,
    style: &'static str,
}

impl Graph {
    /// Nothing where there is nothing to draw, or too much.
    pub fn of(planned: &[Assignment], now_ms: i64) -> Option<Self> {
        if planned.is_empty() || planned.len() > MAX_TASKS {
            return None;
        }
        let links: Vec<(i64, Vec<i64>)> = planned
            .iter()
            .map(|one| {
                let step = one.step.as_ref();
                let after = step
                    .map(|step| step.depends_on.as_slice())
                    .unwrap_or_default();
                let after = after.iter().map(|order| i64::from(*order)).collect();
                (one.task.task_order, after)
            })
            .collect();
        let places = places(&links);
        let boxes = planned.iter().map(|one| {
            let task = &one.task;
            let (x, y) = places[&task.task_order];
            let (status, style) = task_in_words(task, now_ms);
            TaskBox {
                x,
                y,
                order: task.task_order,
                kind: task.task_type.as_str(),
                label: cut(&first_line(&task.description), MAX_LABEL_CHARS),
                status,
                style: style.as_str(),
            }
        });
        let boxes: Vec<TaskBox> = boxes.collect();
        let words = boxes.iter().zip(&links).map(|(task, (_, after))| {
            let after: Vec<String> = after.iter().map(i64::to_string).collect();
            let after = match after.is_empty() {
                true => String::new(),
                false => format!(", after {}", after.join(" and ")),
            };
            format!("{} {}{after}: {}", task.order, task.label, task.status)
        });
        Some(Self {
            width: boxes.iter().map(|one| one.x + BOX_WIDTH).max().unwrap_or(0) + MARGIN,
            height: boxes
                .iter()
                .map(|one| one.y + BOX_HEIGHT)
                .max()
                .unwrap_or(0)
                + MARGIN,
            box_width: BOX_WIDTH,
            box_height: BOX_HEIGHT,
            words: words.collect::<Vec<_>>().join("; "),
            lines: lines(&links, &places),
            boxes,
        })
    }
}

/// Where each task's box is, by its order.
fn places(links: &[(i64, Vec<i64>)]) -> BTreeMap<i64, (i64, i64)> {
    let columns = columns(links);
    let mut filled: BTreeMap<i64, i64> = BTreeMap::new();
    let mut places = BTreeMap::new();
    for (order, _) in links {
        let column = columns[order];
        let row = filled.entry(column).or_insert(0);
        let place = (
            MARGIN + column * (BOX_WIDTH + ACROSS),
            MARGIN + *row * (BOX_HEIGHT + DOWN),
        );
        *row += 1;
        places.insert(*order, place);
    }
    places
}

/// The column of each task: one more than that of the last one it depends on. What a plan cannot have, a circle, ends by itself.
fn columns(links: &[(i64, Vec<i64>)]) -> BTreeMap<i64, i64> {
    let mut columns: BTreeMap<i64, i64> = links.iter().map(|(order, _)| (*order, 0)).collect();
    for _ in 0..links.len() {
        let mut moved = false;
        for (order, after) in links {
            let behind = after.iter().filter_map(|before| columns.get(before)).max();
            let column = behind.map_or(0, |column| column + 1);
            if columns[order] < column && column < links.len() as i64 {
                columns.insert(*order, column);
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    columns
}

fn lines(links: &[(i64, Vec<i64>)], places: &BTreeMap<i64, (i64, i64)>) -> Vec<String> {
    let mut lines = Vec::new();
    for (order, after) in links {
        for before in after {
            let (Some(from), Some(to)) = (places.get(before), places.get(order)) else {
                continue;
            };
            let (x1, y1) = (from.0 + BOX_WIDTH, from.1 + BOX_HEIGHT / 2);
            let (x2, y2) = (to.0, to.1 + BOX_HEIGHT / 2);
            let bend = ACROSS / 2;
            lines.push(format!(
                "M{x1} {y1}C{} {y1} {} {y2} {x2} {y2}",
                x1 + bend,
                x2 - bend
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_right_of_all_it_depends_on() {
        let links = vec![
            (1, vec![]),
            (2, vec![1]),
            (3, vec![1]),
            (4, vec![2, 3]),
            (5, vec![4, 1]),
            (6, vec![]),
        ];
        let columns = columns(&links);
        let expected = [(1, 0), (2, 1), (3, 1), (4, 2), (5, 3), (6, 0)];
        assert_eq!(columns, expected.into_iter().collect());
        let places = places(&links);
        assert_ne!(places[&2], places[&3]);
        assert_eq!(places[&2].0, places[&3].0);
        assert_eq!(lines(&links, &places).len(), 6);
    }

    #[test]
    fn a_circle_or_a_task_that_is_not_there_is_drawn_somehow() {
        let links = vec![(1, vec![2, 9]), (2, vec![1])];
        assert_eq!(places(&links).len(), 2);
    }
}
