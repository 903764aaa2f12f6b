//! One JSON object printed over many lines, as `json` output formats do. It must not keep more than one document.

use super::lines::LINE_MAX_BYTES;

/// The object that has begun and not ended.
#[derive(Default)]
pub(super) struct Document {
    text: String,
    open: bool,
}

impl Document {
    /// Takes a line; gives the whole text where the line ends an object. An object begins with a line that is only `{` and ends
    /// with one that is only `}`: within it such a line is indented.
    pub(super) fn line(&mut self, line: &str) -> Option<String> {
        if line == "{" {
            self.open = true;
            self.text.clear();
        }
        if !self.open || self.text.len() + line.len() > LINE_MAX_BYTES {
            self.open = false;
            self.text = String::new();
            return None;
        }
        self.text.push_str(line);
        self.text.push('\n');
        if line != "}" {
            return None;
        }
        self.open = false;
        Some(std::mem::take(&mut self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_put_together() {
        let mut document = Document::default();
        let lines = ["noise", "}", "{", "  \"a\": {", "  }", "}", "more"];
        let found: Vec<String> = lines
            .iter()
            .filter_map(|line| document.line(line))
            .collect();
        assert_eq!(found, ["{\n  \"a\": {\n  }\n}\n"]);
    }
}
