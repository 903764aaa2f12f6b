//! A length of time as users write it: `500ms`, `90s`, `30m`, `8h`, `7d`, or a sum such as `1h30m`.
//! It knows nothing of the clock.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// A century: far beyond any sensible wait, and safe to add to any time of the clock.
const LONGEST_MS: u64 = 36_500 * 86_400_000;

const FORM: &str = "write whole numbers with a unit of ms, s, m, h or d, such as 90s or 1h30m";

/// A length of time, exact to the millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period {
    millis: u64,
}

impl Period {
    pub const LONGEST: Period = Period { millis: LONGEST_MS };

    /// The period of so many milliseconds, cut at [`Period::LONGEST`].
    pub const fn from_millis(millis: u64) -> Period {
        let millis = if millis > LONGEST_MS {
            LONGEST_MS
        } else {
            millis
        };
        Period { millis }
    }

    pub const fn from_secs(secs: u64) -> Period {
        Period::from_millis(secs.saturating_mul(1_000))
    }

    pub const fn from_mins(mins: u64) -> Period {
        Period::from_millis(mins.saturating_mul(60_000))
    }

    pub const fn from_hours(hours: u64) -> Period {
        Period::from_millis(hours.saturating_mul(3_600_000))
    }

    pub const fn as_millis(self) -> i64 {
        // LONGEST_MS is far below i64::MAX.
        self.millis as i64
    }

    pub const fn is_zero(self) -> bool {
        self.millis == 0
    }

    pub const fn to_duration(self) -> Duration {
        Duration::from_millis(self.millis)
    }
}

impl From<Period> for Duration {
    fn from(period: Period) -> Duration {
        period.to_duration()
    }
}

/// Why a text is no period; the text says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeriodError(String);

impl fmt::Display for PeriodError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for PeriodError {}

impl FromStr for Period {
    type Err = PeriodError;

    fn from_str(text: &str) -> Result<Period, PeriodError> {
        if text.is_empty() {
            return Err(PeriodError(format!("is empty; {FORM}")));
        }
        let mut rest = text;
        let mut sum: u64 = 0;
        while !rest.is_empty() {
            let (part, after) = first_part(rest, text)?;
            sum = sum
                .checked_add(part)
                .filter(|sum| *sum <= LONGEST_MS)
                .ok_or_else(|| too_long(text))?;
            rest = after;
        }
        Ok(Period { millis: sum })
    }
}

/// The milliseconds of the leading `<number><unit>`, and what follows it.
fn first_part<'t>(rest: &'t str, whole: &str) -> Result<(u64, &'t str), PeriodError> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, after) = rest.split_at(digits);
    let letters = after.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (unit, after) = after.split_at(letters);
    if number.is_empty() {
        return Err(PeriodError(format!("{whole:?} is not a duration; {FORM}")));
    }
    if unit.is_empty() {
        return Err(PeriodError(format!("{whole:?} has no unit; {FORM}")));
    }
    let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(PeriodError(format!(
            "{whole:?} has the unknown unit {unit:?}; {FORM}"
        )));
    };
    let number: u64 = number.parse().map_err(|_| too_long(whole))?;
    let millis = number.checked_mul(*factor).ok_or_else(|| too_long(whole))?;
    Ok((millis, after))
}

fn too_long(text: &str) -> PeriodError {
    PeriodError(format!("{text:?} is too long; at most {}", Period::LONGEST))
}

impl fmt::Display for Period {
    /// The shorter of the exact forms: `90s` rather than `1m30s`, `7d1s` rather than `604801s`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return formatter.write_str("0s");
        }
        let mut single = String::new();
        let mut sum = String::new();
        let mut rest = self.millis;
        for (name, factor) in UNITS {
            if single.is_empty() && self.millis.is_multiple_of(factor) {
                single = format!("{}{name}", self.millis / factor);
            }
            if rest >= factor {
                sum.push_str(&format!("{}{name}", rest / factor));
                rest %= factor;
            }
        }
        formatter.write_str(if sum.len() < single.len() {
            &sum
        } else {
            &single
        })
    }
}

impl Serialize for Period {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Period, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Period {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "period",
            "examples": ["500ms", "90s", "30m", "8h", "7d", "1h30m"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_and_prints() {
        for (text, millis, printed) in [
            ("500ms", 500, "500ms"),
            ("90s", 90_000, "90s"),
            ("30m", 1_800_000, "30m"),
            ("8h", 28_800_000, "8h"),
            ("24h", 86_400_000, "1d"),
            ("7d", 604_800_000, "7d"),
            ("1h30m", 5_400_000, "90m"),
            ("7d1s", 604_801_000, "7d1s"),
            ("30m1h", 5_400_000, "90m"),
            ("0s", 0, "0s"),
            ("0000060s", 60_000, "1m"),
            ("36500d", LONGEST_MS as i64, "36500d"),
        ] {
            let period: Period = text.parse().unwrap();
            assert_eq!(period.as_millis(), millis, "{text}");
            assert_eq!(period.to_string(), printed, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_period() {
        for (text, part) in [
            ("", "is empty"),
            (
                "90",
                "has no unit; write whole numbers with a unit of ms, s, m, h or d",
            ),
            ("1h30", "has no unit"),
            ("-5s", "is not a duration"),
            ("+5s", "is not a duration"),
            ("s", "is not a duration"),
            ("1.5h", "has no unit"),
            ("5 s", "has no unit"),
            (" 5s", "is not a duration"),
            ("5min", "unknown unit \"min\""),
            ("5S", "unknown unit \"S\""),
            ("5é", "has no unit"),
            ("36501d", "too long; at most 36500d"),
            ("36500d1ms", "too long"),
            ("99999999999999999999s", "too long"),
            ("18446744073709551615d", "too long"),
        ] {
            let error = text.parse::<Period>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn display_parses_back(millis in 0..=LONGEST_MS) {
            let period = Period::from_millis(millis);
            prop_assert_eq!(period.to_string().parse::<Period>(), Ok(period));
        }

        #[test]
        fn any_text_is_parsed_without_panic(text in "\\PC{0,12}|[0-9]{0,22}[a-z]{0,3}") {
            let _ = text.parse::<Period>();
        }
    }
}
