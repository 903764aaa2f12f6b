//! One field of a cron expression, read into a set of bits. It knows the field's numbers and names, and nothing of time.

/// What may stand in a field.
pub(super) struct Field {
    name: &'static str,
    least: u8,
    /// The last value that a `*` stands for.
    most: u8,
    /// The greatest number that may be written.
    greatest: u8,
    /// Names of the values, from the least on.
    names: &'static [&'static str],
}

pub(super) const SECOND: Field = Field::plain("second", 0, 59);
pub(super) const MINUTE: Field = Field::plain("minute", 0, 59);
pub(super) const HOUR: Field = Field::plain("hour", 0, 23);
pub(super) const DAY: Field = Field::plain("day of month", 1, 31);
pub(super) const MONTH: Field = Field {
    names: &[
        "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
    ],
    ..Field::plain("month", 1, 12)
};
/// Sunday is 0 or 7.
pub(super) const WEEKDAY: Field = Field {
    greatest: SUNDAY_AGAIN,
    names: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
    ..Field::plain("day of week", 0, 6)
};
const SUNDAY_AGAIN: u8 = 7;

impl Field {
    const fn plain(name: &'static str, least: u8, most: u8) -> Field {
        Field {
            name,
            least,
            most,
            greatest: most,
            names: &[],
        }
    }

    /// Every value of the field.
    pub(super) fn all(&self) -> u64 {
        (self.least..=self.most).fold(0, |set, value| set | 1 << value)
    }

    /// The values that a field names.
    pub(super) fn parse(&self, text: &str) -> Result<u64, String> {
        let parts = text.split(',').map(|part| self.part(part));
        let set = parts.collect::<Result<Vec<u64>, String>>();
        let set = set.map_err(|message| format!("{}: {message}", self.name))?;
        Ok(set.into_iter().fold(0, |all, part| all | part))
    }

    /// One part of a list: `*`, `5`, `1-5`, each perhaps with a step.
    fn part(&self, part: &str) -> Result<u64, String> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(self.step(step)?)),
            None => (part, None),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (self.least, self.most),
            Some((first, last)) => self.range(first, last)?,
            None => {
                let first = self.value(range)?;
                // A step without an end goes on to the end of the field.
                (first, step.map_or(first, |_| self.most.max(first)))
            }
        };
        let values = (first..=last).step_by(usize::from(step.unwrap_or(1)));
        Ok(values.fold(0, |set, value| set | 1 << self.same(value)))
    }

    fn range(&self, first: &str, last: &str) -> Result<(u8, u8), String> {
        let (from, mut to) = (self.value(first)?, self.value(last)?);
        // As the end of a week it is its last day.
        if self.greatest == SUNDAY_AGAIN && last.eq_ignore_ascii_case("SUN") {
            to = SUNDAY_AGAIN;
        }
        match from <= to {
            true => Ok((from, to)),
            false => {
                let by_name = !first.starts_with(|letter: char| letter.is_ascii_digit());
                let (end, start) = (
                    self.spelled(self.most, by_name),
                    self.spelled(self.least, by_name),
                );
                Err(format!(
                    "the range {first}-{last} goes backwards; write {first}-{end},{start}-{last}"
                ))
            }
        }
    }

    fn step(&self, text: &str) -> Result<u8, String> {
        let step = number(text)
            .ok_or_else(|| format!("\"{text}\" is no step; write a whole number after the '/'"))?;
        match u8::try_from(step) {
            Ok(0) => Err("a step of 0 does not move; write 1 or more".to_owned()),
            Ok(step) if step <= self.greatest => Ok(step),
            _ => Err(format!(
                "a step of {step} is longer than the field, which ends at {}; a step does not reach beyond it",
                self.greatest
            )),
        }
    }

    fn value(&self, text: &str) -> Result<u8, String> {
        if let Some(place) = self
            .names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(text))
        {
            return Ok(self.least + place as u8);
        }
        let value = number(text).ok_or_else(|| self.unknown(text))?;
        let known = u8::try_from(value)
            .ok()
            .filter(|value| (self.least..=self.greatest).contains(value));
        known.ok_or_else(|| {
            let (least, greatest) = (self.least, self.greatest);
            format!("{value} is not between {least} and {greatest}")
        })
    }

    fn unknown(&self, text: &str) -> String {
        let names = match self.names {
            [] => String::new(),
            names => format!(" or {}", names.join(", ")),
        };
        let (least, greatest) = (self.least, self.greatest);
        format!(
            "\"{text}\" is not understood; write *, {least} to {greatest}{names}, ranges such as {least}-{}, steps such as */2, or a list of them with commas",
            least + 4
        )
    }

    fn same(&self, value: u8) -> u8 {
        match value > self.most {
            true => self.least,
            false => value,
        }
    }

    fn spelled(&self, value: u8, by_name: bool) -> String {
        let name = self.names.get(usize::from(value - self.least));
        let name = name.filter(|_| by_name);
        name.map_or_else(|| value.to_string(), |name| (*name).to_owned())
    }
}

/// Digits alone: no sign, no blank.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u32::MAX))
}
