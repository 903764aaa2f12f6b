//! The text format of Prometheus: families with a help text and a type, and a line for each value.
//! It must not know what is measured.

use crate::model::histogram::Counted;
use std::fmt::Write;

/// What a number means over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only rises.
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// Names and their values.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// What is sent to whoever asks.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
}

impl Page {
    /// Begins a family. It is named even while it has no value, so that one sees what there will be.
    pub fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> Family<'_> {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let kind = kind.as_str();
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        Family { page: self, name }
    }

    pub fn into_text(self) -> String {
        self.text
    }
}

/// The values of one name.
pub struct Family<'p> {
    page: &'p mut Page,
    name: &'static str,
}

impl Family<'_> {
    pub fn value(&mut self, labels: Labels<'_>, value: f64) {
        self.line("", labels, None, value);
    }

    pub fn histogram(&mut self, labels: Labels<'_>, counted: &Counted) {
        for (bound, count) in &counted.upto {
            let bound = bound.to_string();
            self.line("_bucket", labels, Some(&bound), *count as f64);
        }
        self.line("_bucket", labels, Some("+Inf"), counted.count as f64);
        self.line("_sum", labels, None, counted.sum);
        self.line("_count", labels, None, counted.count as f64);
    }

    fn line(&mut self, ending: &str, labels: Labels<'_>, bound: Option<&str>, value: f64) {
        let text = &mut self.page.text;
        text.push_str(self.name);
        text.push_str(ending);
        let bound = bound.map(|bound| ("le", bound));
        let mut between = '{';
        for (name, value) in labels.iter().copied().chain(bound) {
            let value = value
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            let _ = write!(text, "{between}{name}=\"{value}\"");
            between = ',';
        }
        let end = if between == ',' { "}" } else { "" };
        let _ = writeln!(text, "{end} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_lines() {
        let mut page = Page::default();
        let mut sessions = page.family("a_sessions", Kind::Gauge, "Two\nlines.");
        sessions.value(&[], 1.0);
        sessions.value(&[("agent", "a\"b\\c\nd"), ("state", "x")], 0.25);
        let counted = Counted {
            upto: vec![(0.5, 1), (10.0, 3)],
            count: 4,
            sum: 70.5,
        };
        let mut seconds = page.family("a_seconds", Kind::Histogram, "Time.");
        seconds.histogram(&[("route", "/")], &counted);
        assert_eq!(
            page.into_text(),
            r#"# HELP a_sessions Two\nlines.
# TYPE a_sessions gauge
a_sessions 1
a_sessions{agent="a\"b\\c\nd",state="x"} 0.25
# HELP a_seconds Time.
# TYPE a_seconds histogram
a_seconds_bucket{route="/",le="0.5"} 1
a_seconds_bucket{route="/",le="10"} 3
a_seconds_bucket{route="/",le="+Inf"} 4
a_seconds_sum{route="/"} 70.5
a_seconds_count{route="/"} 4
"#
        );
    }
}
