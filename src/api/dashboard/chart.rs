//! Days as bars. Pure: it is given the amounts and says how high each bar is; the template draws them.

use crate::model::amount::money;
use serde::Serialize;

const HEIGHT: f64 = 160.0;
const STEP: f64 = 30.0;
const BAR: f64 = 22.0;

/// One day.
#[derive(Clone, Debug, PartialEq)]
pub struct Day {
    pub date: String,
    pub cost_usd: f64,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Chart {
    width: f64,
    height: f64,
    bars: Vec<Bar>,
    /// The amount that the highest bar stands for.
    top: String,
    words: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct Bar {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    date: String,
    /// The day of the month, where there is room for it.
    label: Option<String>,
    amount: String,
}

impl Chart {
    pub fn of(days: &[Day]) -> Self {
        let top = days.iter().map(|day| day.cost_usd).fold(0.0, f64::max);
        let sum: f64 = days.iter().map(|day| day.cost_usd).sum();
        let bars = days.iter().enumerate().map(|(place, day)| {
            let height = match top > 0.0 {
                true => (day.cost_usd / top * HEIGHT).round(),
                false => 0.0,
            };
            let height = if day.cost_usd > 0.0 {
                height.max(2.0)
            } else {
                height
            };
            Bar {
                x: place as f64 * STEP + (STEP - BAR) / 2.0,
                y: HEIGHT - height,
                width: BAR,
                height,
                label: (place % 3 == 0).then(|| day.date.get(5..).unwrap_or_default().to_owned()),
                date: day.date.clone(),
                amount: money(day.cost_usd),
            }
        });
        Self {
            width: days.len() as f64 * STEP,
            height: HEIGHT,
            bars: bars.collect(),
            top: money(top),
            words: format!(
                "{} in {} days, at most {} on one day",
                money(sum),
                days.len(),
                money(top)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bar_is_as_high_as_the_chart_and_little_is_not_nothing() {
        let day = |date: &str, cost_usd| Day {
            date: date.to_owned(),
            cost_usd,
        };
        let chart = Chart::of(&[
            day("2026-11-01", 10.0),
            day("2026-11-02", 0.0),
            day("2026-11-03", 0.01),
        ]);
        let heights: Vec<f64> = chart.bars.iter().map(|bar| bar.height).collect();
        assert_eq!(heights, [HEIGHT, 0.0, 2.0]);
        assert_eq!(chart.bars[0].label.as_deref(), Some("11-01"));
        assert_eq!(chart.words, "$10.01 in 3 days, at most $10.00 on one day");
        assert_eq!(Chart::of(&[day("2026-11-01", 0.0)]).bars[0].height, 0.0);
    }
}
