//! `ralphd stats`: how the agents fare, in a table; on a terminal with small charts. It only looks.

use super::desk::Desk;
use super::exit::Exit;
use super::output::{self, Look, Style};
use super::table::{Cell, Table};
use crate::clock::now_ms;
use crate::model::period::Period;
use crate::report::stats::{AgentStats, Day, Spread, Stats};
use crate::store::review::Span;
use anyhow::Result;
use jiff::tz::TimeZone;

const TITLES: &[&str] = &[
    "AGENT",
    "ENDED",
    "VERIFIED",
    "CLAIMED",
    "TAMPERED",
    "FAILED",
    "CANCELLED",
    "SUCCESS",
    "ITERATIONS",
    "LENGTH",
    "COST/DONE",
    "COST",
];
/// So far it looks back where nothing else is said.
const A_MONTH: Period = Period::from_hours(30 * 24);
const BAR_CHARS: usize = 30;
/// A column of a small chart, from nothing to the most there is.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// What stands before a line of columns.
const LABEL_CHARS: usize = 10;

/// Prints how the agents fared since a while ago.
pub fn stats(desk: Desk, since: Option<Period>) -> Result<Exit> {
    let since = since.unwrap_or(A_MONTH);
    let store = desk.existing_store()?;
    let until_ms = now_ms();
    let span = Span {
        since_ms: until_ms - since.as_millis(),
        until_ms,
    };
    let zone = TimeZone::system();
    let stats = desk.block_on(store.read(move |sql| Stats::of(sql, span, &zone)))?;
    if desk.global.json {
        output::print_json(&stats)?;
        return Ok(Exit::Done);
    }
    if stats.agents.is_empty() {
        output::remark(&format!("no session ended in the last {since}"));
        return Ok(Exit::Done);
    }
    output::print_lines(&lines(&stats, &Look::of_stdout()))?;
    Ok(Exit::Done)
}

fn lines(stats: &Stats, look: &Look) -> Vec<String> {
    let mut table = Table::new(TITLES, 0);
    for agent in &stats.agents {
        table.row(row(agent));
    }
    let mut lines = table.lines(look);
    if !look.terminal {
        return lines;
    }
    lines.push(String::new());
    let names = stats.agents.iter().map(|agent| agent.agent.chars().count());
    let widest = names.max().unwrap_or(0).min(20);
    for agent in &stats.agents {
        let name = output::cut(&output::harmless(&agent.agent), widest);
        lines.push(format!("{name:<widest$}  {}", shares(agent, look)));
    }
    let legend = format!(
        "{:widest$}  {} verified  {} claimed  {} failed or tampered",
        "",
        look.paint(Style::Good, "█"),
        look.paint(Style::Notice, "▓"),
        look.paint(Style::Bad, "░")
    );
    lines.extend([legend, String::new()]);
    lines.extend(by_day(&stats.days, look));
    lines
}

fn row(agent: &AgentStats) -> Vec<Cell> {
    let count = |count: usize| match count {
        0 => String::new(),
        count => count.to_string(),
    };
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    vec![
        (agent.agent.clone(), Style::Bold).into(),
        agent.ended.to_string().into(),
        (count(agent.verified), Style::Good).into(),
        count(agent.claimed).into(),
        (count(agent.tampered), Style::Bad).into(),
        (count(agent.failed), Style::Bad).into(),
        (count(agent.cancelled), Style::Dim).into(),
        agent.success.map(percent).unwrap_or_default().into(),
        spread(agent.iterations_to_done, |number| format!("{number}")).into(),
        spread(agent.duration_ms, |ms| output::duration(ms as i64)).into(),
        agent
            .cost_per_done_usd
            .map(output::money)
            .unwrap_or_default()
            .into(),
        output::money(agent.cost_usd).into(),
    ]
}

/// The median, and what nine of ten do not exceed.
fn spread(spread: Spread, written: impl Fn(f64) -> String) -> String {
    match (spread.median, spread.p90) {
        (Some(median), Some(most)) => format!("{} (p90 {})", written(median), written(most)),
        _ => String::new(),
    }
}

/// How much of what an agent tried may be believed how far.
fn shares(agent: &AgentStats, look: &Look) -> String {
    let tried = agent.ended - agent.cancelled;
    let part = |count: usize| (count * BAR_CHARS).div_ceil(tried.max(1)).min(BAR_CHARS);
    let verified = part(agent.verified);
    let claimed = part(agent.verified + agent.claimed) - verified;
    let rest = match tried {
        0 => 0,
        _ => BAR_CHARS - verified - claimed,
    };
    [
        (Style::Good, "█", verified),
        (Style::Notice, "▓", claimed),
        (Style::Bad, "░", rest),
    ]
    .map(|(style, mark, count)| look.paint(style, &mark.repeat(count)))
    .concat()
}

/// A column for each day, as many as fit.
fn by_day(days: &[Day], look: &Look) -> Vec<String> {
    let room = look
        .width
        .unwrap_or(usize::MAX)
        .saturating_sub(LABEL_CHARS + 12);
    let shown = &days[days.len().saturating_sub(room.max(1))..];
    let line =
        |label: &str, style: Style, value: &dyn Fn(&Day) -> f64, most: &dyn Fn(f64) -> String| {
            let values: Vec<f64> = shown.iter().map(value).collect();
            let highest = values.iter().copied().fold(0.0, f64::max);
            let columns = look.paint(style, &columns(&values));
            format!("{label:<LABEL_CHARS$}{columns}  up to {}", most(highest))
        };
    let number = |number: f64| format!("{number}");
    let first = shown.first().map_or("", |day| day.date.as_str());
    vec![
        look.paint(Style::Dim, &format!("each day since {first}")),
        line("done", Style::Good, &|day| day.done as f64, &number),
        line("failed", Style::Bad, &|day| day.failed as f64, &number),
        line("cost", Style::Active, &|day| day.cost_usd, &output::money),
    ]
}

fn columns(values: &[f64]) -> String {
    let highest = values.iter().copied().fold(0.0, f64::max);
    let column = |value: &f64| match *value > 0.0 && highest > 0.0 {
        false => ' ',
        true => {
            let level = (value / highest * LEVELS.len() as f64).ceil() as usize;
            LEVELS[level.clamp(1, LEVELS.len()) - 1]
        }
    };
    values.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_rise_with_their_values() {
        for (values, expected) in [
            (&[][..], ""),
            (&[0.0, 0.0][..], "  "),
            (&[1.0, 0.0, 8.0, 4.0, 0.1][..], "▁ █▄▁"),
        ] {
            assert_eq!(columns(values), expected);
        }
    }

    #[test]
    fn a_bar_is_as_long_as_all_that_was_tried() {
        let look = Look {
            terminal: true,
            colours: false,
            width: Some(80),
        };
        for (verified, claimed, failed, cancelled, expected) in [
            (1, 1, 1, 4, ("█".repeat(10), "▓".repeat(10), "░".repeat(10))),
            (0, 0, 3, 0, (String::new(), String::new(), "░".repeat(30))),
            (
                1,
                0,
                999,
                0,
                ("█".to_owned(), String::new(), "░".repeat(29)),
            ),
            (0, 0, 0, 2, Default::default()),
        ] {
            let agent = AgentStats {
                agent: "a".to_owned(),
                ended: verified + claimed + failed + cancelled,
                verified,
                claimed,
                tampered: 0,
                failed,
                cancelled,
                success: None,
                iterations_to_done: Spread::default(),
                cost_per_done_usd: None,
                cost_usd: 0.0,
                duration_ms: Spread::default(),
            };
            let (good, notice, bad) = expected;
            assert_eq!(shares(&agent, &look), [good, notice, bad].concat());
        }
    }
}
