//! Who takes the next turn: the agent that was asked for, or while a limit shuts it out the next one of its fallbacks. Pure: all it
//! looks at comes from rows and settings, so that the answer is the same after a crash.

use super::limit::Limit;

/// One who may take the next turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colleague {
    pub name: String,
    /// The last limit that is known of it.
    pub limit: Option<Limit>,
    /// Whether it could work here at all: it is there, keeps the session's limits, and has not failed for good.
    pub fit: bool,
}

impl Colleague {
    fn limit_at(&self, now_ms: i64) -> Option<&Limit> {
        self.limit.as_ref().filter(|limit| limit.holds(now_ms))
    }
}

/// What is done about the next turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The one who works goes on.
    GoOn,
    /// Another one goes on; with it, the limit of the one that was asked for, while it holds.
    HandOver { to: String, limit: Option<Limit> },
    /// Everybody is shut out; this is who comes back first.
    Wait { agent: String, limit: Limit },
}

/// The first in order who is fit and free. `colleagues` begins with the one that was asked for, who is always fit: should it fail for
/// good, that is the session's end and not decided here.
pub fn choose(colleagues: &[Colleague], current: &str, now_ms: i64) -> Choice {
    let fit = || colleagues.iter().filter(|colleague| colleague.fit);
    let free = fit().find(|colleague| colleague.limit_at(now_ms).is_none());
    if let Some(free) = free {
        return match free.name == current {
            true => Choice::GoOn,
            false => Choice::HandOver {
                to: free.name.clone(),
                limit: colleagues[0].limit_at(now_ms).copied(),
            },
        };
    }
    let limited = fit().filter_map(|colleague| Some((colleague, colleague.limit_at(now_ms)?)));
    match limited.min_by_key(|(_, limit)| limit.until_ms) {
        Some((colleague, limit)) => Choice::Wait {
            agent: colleague.name.clone(),
            limit: *limit,
        },
        None => Choice::GoOn,
    }
}

/// An agent and its fallbacks in the order in which they are asked: its own list, then the lists of those on it.
pub fn order<'a>(first: &'a str, fallbacks: impl Fn(&str) -> &'a [String]) -> Vec<&'a str> {
    let mut order = vec![first];
    let mut asked = 0;
    while let Some(name) = order.get(asked) {
        for next in fallbacks(name) {
            if !order.contains(&next.as_str()) {
                order.push(next);
            }
        }
        asked += 1;
    }
    order
}

/// The way by which an agent falls back on itself in the end.
pub fn circle<'a>(
    first: &'a str,
    fallbacks: &impl Fn(&str) -> &'a [String],
) -> Option<Vec<&'a str>> {
    let mut dead_ends = Vec::new();
    way_back(first, vec![first], fallbacks, &mut dead_ends)
}

fn way_back<'a>(
    first: &'a str,
    way: Vec<&'a str>,
    fallbacks: &impl Fn(&str) -> &'a [String],
    dead_ends: &mut Vec<&'a str>,
) -> Option<Vec<&'a str>> {
    let here = *way.last()?;
    for next in fallbacks(here) {
        let longer = [&way[..], &[next.as_str()]].concat();
        if next == first {
            return Some(longer);
        }
        if !dead_ends.contains(&next.as_str()) {
            dead_ends.push(next);
            if let Some(found) = way_back(first, longer, fallbacks, dead_ends) {
                return Some(found);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::failure::FailureClass;

    fn limit(until_ms: i64) -> Limit {
        Limit {
            class: FailureClass::UsageLimit,
            until_ms,
        }
    }

    /// `a` is asked for; of each: the end of its limit, 0 for none, and whether it is fit.
    fn colleagues(of: &[(&str, i64, bool)]) -> Vec<Colleague> {
        let colleague = |(name, until_ms, fit): &(&str, i64, bool)| Colleague {
            name: (*name).to_owned(),
            limit: (*until_ms > 0).then(|| limit(*until_ms)),
            fit: *fit,
        };
        of.iter().map(colleague).collect()
    }

    #[test]
    fn the_first_who_is_fit_and_free_takes_the_turn() {
        let to = |name: &str, until_ms: i64| Choice::HandOver {
            to: name.to_owned(),
            limit: (until_ms > 0).then(|| limit(until_ms)),
        };
        let wait = |name: &str, until_ms: i64| Choice::Wait {
            agent: name.to_owned(),
            limit: limit(until_ms),
        };
        let now_ms = 100;
        for (of, current, expected) in [
            (&[("a", 0, true)][..], "a", Choice::GoOn),
            (&[("a", 900, true)], "a", wait("a", 900)),
            (&[("a", 100, true)], "a", Choice::GoOn),
            (&[("a", 900, true), ("b", 0, true)], "a", to("b", 900)),
            (&[("a", 900, true), ("b", 0, true)], "b", Choice::GoOn),
            // Back to the one that was asked for as soon as it is free.
            (&[("a", 100, true), ("b", 0, true)], "b", to("a", 0)),
            (&[("a", 0, true), ("b", 900, true)], "b", to("a", 0)),
            // Who is not fit is passed over, who is known to be limited too.
            (&[("a", 900, true), ("b", 0, false)], "a", wait("a", 900)),
            (
                &[("a", 900, true), ("b", 0, false), ("c", 0, true)],
                "b",
                to("c", 900),
            ),
            (
                &[("a", 900, true), ("b", 800, true), ("c", 0, true)],
                "b",
                to("c", 900),
            ),
            // All of them: until the first comes back, which may be any of them.
            (&[("a", 900, true), ("b", 800, true)], "b", wait("b", 800)),
            (&[("a", 700, true), ("b", 800, true)], "b", wait("a", 700)),
            (&[("a", 900, true), ("b", 800, false)], "b", wait("a", 900)),
            // One that is no longer configured.
            (&[("a", 0, true)], "gone", to("a", 0)),
            (&[], "a", Choice::GoOn),
        ] {
            assert_eq!(
                choose(&colleagues(of), current, now_ms),
                expected,
                "{of:?} {current}"
            );
        }
    }

    fn lists(name: &str) -> &'static [String] {
        use std::sync::LazyLock;
        static LISTS: LazyLock<Vec<(&str, Vec<String>)>> = LazyLock::new(|| {
            let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            vec![
                ("a", list(&["b", "c"])),
                ("b", list(&["d"])),
                ("c", list(&["d", "e"])),
                ("x", list(&["a", "y"])),
                ("y", list(&["z"])),
                ("z", list(&["y"])),
                ("self", list(&["self"])),
            ]
        });
        let found = LISTS.iter().find(|(of, _)| *of == name);
        found.map_or(&[], |(_, list)| list)
    }

    #[test]
    fn fallbacks_have_an_order_and_no_circles() {
        for (first, expected, way) in [
            ("a", "a b c d e", None),
            ("b", "b d", None),
            ("e", "e", None),
            ("x", "x a y b c z d e", None),
            ("y", "y z", Some("y z y")),
            ("self", "self", Some("self self")),
        ] {
            assert_eq!(order(first, lists).join(" "), expected);
            let found = circle(first, &lists).map(|way| way.join(" "));
            assert_eq!(found.as_deref(), way, "{first}");
        }
    }
}
