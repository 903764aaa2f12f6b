//! The verbs of the `restore_points` table: the state of a session after each iteration, and the lines on which they follow each other.
//! The files themselves are git's (`workspace/git`).

use super::driver::{Row, Sql, values};
use super::query;
use crate::model::words::words;
use anyhow::{Result, bail};
use serde_json::{Value as Json, json};
use std::collections::HashSet;

words! {
    /// Where the commit of a point is.
    pub enum Ground {
        /// In the repository of the workspace.
        Own => "own",
        /// In the one beside a plain directory.
        Shadow => "shadow",
    }
}

/// A point as stored.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct RestorePoint {
    pub session_id: String,
    pub number: i64,
    pub task_id: Option<String>,
    pub after_number: Option<i64>,
    pub ground: Ground,
    pub place: String,
    pub branch: Option<String>,
    pub commit_id: String,
    pub facts: Json,
    pub remarks: Vec<String>,
    pub iteration_count: i64,
    pub plan: Option<Json>,
    pub at_ms: i64,
}

/// A point that is to be kept.
#[derive(Clone, Debug)]
pub struct NewPoint {
    pub ground: Ground,
    pub place: String,
    pub branch: Option<String>,
    pub commit_id: String,
    pub facts: Json,
    pub remarks: Vec<String>,
}

/// Keeps the point of an iteration, or the one before the first (number 0). Not before the iteration is counted.
pub fn add(
    sql: &mut dyn Sql,
    (session, number): (&str, i64),
    task: Option<&str>,
    new: &NewPoint,
    at_ms: i64,
) -> Result<()> {
    let before = last(sql, session, &new.place)?;
    let before = before.map(|point| point.number).filter(|it| *it < number);
    sql.run(
        query!("restore_points_add"),
        values![
            session,
            number,
            task,
            before,
            new.ground.as_str(),
            &new.place,
            new.branch.as_ref(),
            &new.commit_id,
            new.facts.to_string(),
            json!(new.remarks).to_string(),
            at_ms,
        ],
    )?;
    Ok(())
}

/// One point of a session.
pub fn get(sql: &mut dyn Sql, session: &str, number: i64) -> Result<Option<RestorePoint>> {
    let row = sql.row(query!("restore_points_get"), values![session, number])?;
    row.as_ref().map(from_row).transpose()
}

/// The point that is meant by a session and a number; without one, the last that the session goes on from.
pub fn find(sql: &mut dyn Sql, session: &str, number: Option<i64>) -> Result<RestorePoint> {
    let points = of_session(sql, session)?;
    let point = match number {
        Some(number) => points.iter().find(|point| point.number == number).cloned(),
        None => current(sql, session)?,
    };
    let Some(point) = point else {
        let known: Vec<String> = points
            .iter()
            .map(|point| point.number.to_string())
            .collect();
        bail!(NoPoint(match (number, known.is_empty()) {
            (Some(number), false) => format!(
                "session {session} has no point {number}, only {}",
                known.join(", ")
            ),
            _ => format!("session {session} has no points: nothing of it was kept"),
        }));
    };
    Ok(point)
}

/// The point that a session goes on from, if any of it was kept.
pub fn current(sql: &mut dyn Sql, session: &str) -> Result<Option<RestorePoint>> {
    let row = sql.row(query!("restore_points_current"), values![session])?;
    row.as_ref().map(from_row).transpose()
}

/// A point that is not there.
#[derive(Debug)]
pub struct NoPoint(pub String);

impl std::fmt::Display for NoPoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NoPoint {}

/// All points of a session, those of abandoned lines too.
pub fn of_session(sql: &mut dyn Sql, session: &str) -> Result<Vec<RestorePoint>> {
    let rows = sql.rows(query!("restore_points_of_session"), values![session])?;
    rows.iter().map(from_row).collect()
}

/// The numbers of the points that are not like the one before them.
pub fn changing(sql: &mut dyn Sql, session: &str) -> Result<HashSet<i64>> {
    let rows = sql.rows(query!("restore_points_changing"), values![session])?;
    rows.iter().map(|row| row.int("number")).collect()
}

/// The newest point of a session in one directory that it goes on from.
pub fn last(sql: &mut dyn Sql, session: &str, place: &str) -> Result<Option<RestorePoint>> {
    let row = sql.row(query!("restore_points_last"), values![session, place])?;
    row.as_ref().map(from_row).transpose()
}

/// The numbers on the line that leads to a point, newest first.
pub fn line(points: &[RestorePoint], number: i64) -> Vec<i64> {
    let mut line = Vec::new();
    let mut next = Some(number);
    while let Some(number) = next {
        let Some(point) = points.iter().find(|point| point.number == number) else {
            break;
        };
        line.push(number);
        next = point.after_number;
    }
    line
}

/// Takes the rows of a session back, or forward, to a point: its line is the past, its count of iterations is that of then.
pub fn rewind(sql: &mut dyn Sql, to: &RestorePoint, at_ms: i64) -> Result<()> {
    let points = of_session(sql, &to.session_id)?;
    let line = json!(line(&points, to.number)).to_string();
    sql.run(
        query!("iterations_rewind"),
        values![&to.session_id, line, at_ms],
    )?;
    sql.run(
        query!("sessions_set_iteration_count"),
        values![&to.session_id, to.iteration_count],
    )?;
    Ok(())
}

/// The handoff as it was at a point: the last good one on its line.
pub fn handoff(sql: &mut dyn Sql, session: &str, number: i64) -> Result<Option<Json>> {
    let points = of_session(sql, session)?;
    let line = json!(line(&points, number)).to_string();
    let row = sql.row(query!("restore_points_handoff"), values![session, line])?;
    row.map_or(Ok(None), |row| row.optional_json("handoff"))
}

fn from_row(row: &Row) -> Result<RestorePoint> {
    Ok(RestorePoint {
        session_id: row.text("session_id")?,
        number: row.int("number")?,
        task_id: row.optional_text("task_id")?,
        after_number: row.optional_int("after_number")?,
        ground: row.word("ground")?,
        place: row.text("place")?,
        branch: row.optional_text("branch")?,
        commit_id: row.text("commit_id")?,
        facts: row.optional_json("facts")?.unwrap_or_default(),
        remarks: row
            .optional_json("remarks")?
            .and_then(|remarks| serde_json::from_value(remarks).ok())
            .unwrap_or_default(),
        iteration_count: row.int("iteration_count")?,
        plan: row.optional_json("plan")?,
        at_ms: row.int("at_ms")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(number: i64, after_number: Option<i64>) -> RestorePoint {
        RestorePoint {
            session_id: "s".to_owned(),
            number,
            task_id: None,
            after_number,
            ground: Ground::Own,
            place: "/w".to_owned(),
            branch: None,
            commit_id: format!("c{number}"),
            facts: json!({}),
            remarks: Vec::new(),
            iteration_count: number,
            plan: None,
            at_ms: 0,
        }
    }

    #[test]
    fn lines_go_their_own_ways() {
        // 1, 2, 3; back to 1, then 4 and 5; back to 3, then 6.
        let points = [
            point(0, None),
            point(1, Some(0)),
            point(2, Some(1)),
            point(3, Some(2)),
            point(4, Some(1)),
            point(5, Some(4)),
            point(6, Some(3)),
        ];
        for (number, expected) in [
            (0, vec![0]),
            (3, vec![3, 2, 1, 0]),
            (5, vec![5, 4, 1, 0]),
            (6, vec![6, 3, 2, 1, 0]),
            (9, vec![]),
        ] {
            assert_eq!(line(&points, number), expected, "{number}");
        }
    }
}
