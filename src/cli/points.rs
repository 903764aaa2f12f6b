//! `ralphd diff`, `rewind` and `fork`: the points of sessions, compared, gone back to, and gone on from in another way.

use super::arguments::{Compare, Fork, PointName};
use super::desk::Desk;
use super::exit::{Exit, Failure};
use super::output;
use super::submit::{admit, announce};
use crate::engine::ground;
use crate::model::id::{point, short};
use crate::model::session::Trigger;
use crate::queue::wake;
use crate::store::Store;
use crate::store::driver::Sql;
use crate::store::restore_points::{self, RestorePoint};
use crate::store::sessions::{self, Session};
use crate::trigger::fork as forks;
use crate::workspace::git::{self, Form};
use anyhow::{Result, bail};
use std::io::Write;

/// More than anybody reads; a larger difference is looked at with git itself.
const MAX_DIFF_BYTES: usize = 64 << 20;

/// Two ends of a comparison: each a session, and a number where one was given.
#[derive(Debug, PartialEq, Eq)]
struct Ends {
    left: (String, Side),
    right: (String, Side),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    At(i64),
    /// The first point.
    Start,
    /// The last point.
    Now,
    /// The one before the other side's.
    Before,
}

/// `ID` from the start to now; `ID@N` what iteration N did; `ID@A..B`, `ID@A..OTHER@B`; or two of them one after the other.
fn ends(first: &str, second: Option<&str>) -> Result<Ends> {
    let read = |text: &str| -> Result<(String, Option<i64>)> {
        let (id, number) = point(text).map_err(Failure)?;
        Ok((id.to_owned(), number))
    };
    let at = |number: Option<i64>, missing: Side| number.map_or(missing, Side::At);
    if let Some(second) = second {
        let (left, right) = (read(first)?, read(second)?);
        return Ok(Ends {
            left: (left.0, at(left.1, Side::Now)),
            right: (right.0, at(right.1, Side::Now)),
        });
    }
    let Some((from, to)) = first.split_once("..") else {
        let (id, number) = read(first)?;
        let left = match number {
            Some(_) => Side::Before,
            None => Side::Start,
        };
        return Ok(Ends {
            left: (id.clone(), left),
            right: (id, at(number, Side::Now)),
        });
    };
    let (left, number) = read(from)?;
    let right = match (to, to.parse::<i64>()) {
        ("", _) => (left.clone(), Side::Now),
        (_, Ok(number)) => (left.clone(), Side::At(number)),
        _ => {
            let (id, number) = read(to)?;
            (id, at(number, Side::Now))
        }
    };
    Ok(Ends {
        left: (left, at(number, Side::Start)),
        right,
    })
}

pub fn diff(desk: Desk, wanted: Compare) -> Result<Exit> {
    let ends = ends(&wanted.first, wanted.second.as_deref())?;
    let form = match (wanted.stat, wanted.name_only) {
        (true, _) => Form::Stat,
        (_, true) => Form::Names,
        _ => Form::Patch,
    };
    desk.block_on(async {
        let store = desk.existing_store()?;
        let right = find(&store, &ends.right, None).await?;
        let left = find(&store, &ends.left, Some(&right.1)).await?;
        let (before, after) = (
            ground::of_point(&desk.git(), &desk.state, &left.0, &left.1).await?,
            ground::of_point(&desk.git(), &desk.state, &right.0, &right.1).await?,
        );
        let sides = (
            (&before, left.1.commit_id.as_str()),
            (&after, right.1.commit_id.as_str()),
        );
        let coloured = output::Look::of_stdout().colours;
        let text = git::diff(sides.0, sides.1, form, coloured, MAX_DIFF_BYTES).await?;
        std::io::stdout().lock().write_all(&text)?;
        Ok(Exit::Done)
    })
}

async fn find(
    store: &Store,
    (id, side): &(String, Side),
    other: Option<&RestorePoint>,
) -> Result<(Session, RestorePoint)> {
    let (given, side, other) = (id.clone(), *side, other.cloned());
    let read = move |sql: &mut dyn Sql| {
        let id = sessions::resolve(sql, &given)?;
        let number = match side {
            Side::At(number) => Some(number),
            Side::Start => Some(0),
            Side::Now => None,
            Side::Before => other
                .as_ref()
                .and_then(|other| other.after_number)
                .or(Some(0)),
        };
        let point = restore_points::find(sql, &id, number)?;
        Ok((sessions::expect(sql, &id)?, point))
    };
    store.read(read).await
}

pub fn rewind(desk: Desk, wanted: &PointName) -> Result<Exit> {
    let (given, number) = point(&wanted.point).map_err(Failure)?;
    let Some(number) = number else {
        bail!(Failure(format!(
            "say to which iteration: 'ralphd rewind {given}@N'; 'ralphd show {given}' lists them"
        )));
    };
    let given = given.to_owned();
    desk.block_on(async {
        drop(desk.existing_store()?);
        let house = desk.house()?;
        let resolve = move |sql: &mut dyn Sql| sessions::resolve(sql, &given);
        let id = house.store.read(resolve).await?;
        let rewound = ground::rewind(&house, &id, number).await?;
        wake::ring(&desk.state);
        if desk.global.json {
            output::print_json(&rewound)?;
            return Ok(Exit::Done);
        }
        if desk.global.quiet {
            return Ok(Exit::Done);
        }
        let short = short(&id);
        let on = match rewound.ended {
            true => format!("ralphd continue {short}"),
            false => format!("ralphd resume {short}"),
        };
        output::print_line(&format!(
            "session {id} is as it was after iteration {number}, in {}",
            rewound.workspace
        ))?;
        if let Some(kept) = &rewound.kept {
            output::print_line(&format!("what was there before is kept as {kept}"))?;
        }
        output::print_line(&format!("it goes on with '{on}'"))?;
        Ok(Exit::Done)
    })
}

pub fn fork(desk: Desk, wanted: Fork) -> Result<Exit> {
    let (given, number) = point(&wanted.point).map_err(Failure)?;
    let given = given.to_owned();
    desk.block_on(async {
        let store = desk.existing_store()?;
        let read = move |sql: &mut dyn Sql| {
            let id = sessions::resolve(sql, &given)?;
            let point = restore_points::find(sql, &id, number)?;
            Ok((sessions::expect(sql, &id)?, point))
        };
        let (session, point) = store.read(read).await?;
        let request = wanted.options.over(&forks::request(&session)?);
        let origin = forks::origin(session, &point, Trigger::Cli);
        let created = admit(&desk, &store, request, origin).await?;
        announce(&desk, &created)?;
        Ok(Exit::Done)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compared_with_what() {
        use Side::*;
        for (first, second, left, right) in [
            ("a", None, ("a", Start), ("a", Now)),
            ("a@3", None, ("a", Before), ("a", At(3))),
            ("a@1..3", None, ("a", At(1)), ("a", At(3))),
            ("a@1..", None, ("a", At(1)), ("a", Now)),
            ("a@2..b@4", None, ("a", At(2)), ("b", At(4))),
            ("a@2..bcd", None, ("a", At(2)), ("bcd", Now)),
            ("a", Some("b"), ("a", Now), ("b", Now)),
            ("a@2", Some("b@1"), ("a", At(2)), ("b", At(1))),
        ] {
            let side = |(id, side): (&str, Side)| (id.to_owned(), side);
            let expected = Ends {
                left: side(left),
                right: side(right),
            };
            assert_eq!(ends(first, second).unwrap(), expected, "{first} {second:?}");
        }
        assert!(ends("a@x", None).is_err());
    }
}
