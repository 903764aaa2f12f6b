//! Was the promise kept? The rules by which a final text counts as «done».
//! Pure, and deliberately strict: a wrong «done» is the worst thing this program can do.

use super::request::PromiseMatch;

/// Marks that Markdown puts around a word without changing it.
const MARKDOWN_MARKS: &[char] = &['*', '_', '`', '#', '~', '-', '+'];

/// Whether `text`, the agent's final words, keeps the promise. `prompt` is what the agent was told: an echo of it does not count.
pub fn is_kept(text: &str, promise: &str, rule: PromiseMatch, prompt: &str) -> bool {
    let promise = promise.trim();
    if promise.is_empty() {
        return false;
    }
    let text = without_copies(text, prompt);
    match rule {
        PromiseMatch::Line => {
            stands_alone(&text, promise, prompt) || is_tagged(&text, promise, prompt)
        }
        PromiseMatch::Contains => is_mentioned(&text, promise, prompt),
    }
}

/// The text without whole copies of the prompt.
fn without_copies(text: &str, prompt: &str) -> String {
    let prompt = prompt.trim();
    if prompt.is_empty() {
        return text.to_owned();
    }
    text.replace(prompt, "\n")
}

fn stands_alone(text: &str, promise: &str, prompt: &str) -> bool {
    let said = places(text, promise);
    if said.is_empty() {
        return false;
    }
    let told = places(prompt, promise);
    said.iter()
        .any(|place| !told.iter().any(|known| place.echoes(known)))
}

/// A line that holds the promise and nothing else, with its neighbours.
struct Place<'a> {
    before: Option<&'a str>,
    after: Option<&'a str>,
}

impl Place<'_> {
    /// The same words in the same surroundings: the prompt said back.
    fn echoes(&self, told: &Place<'_>) -> bool {
        match (self.before, self.after) {
            (None, None) => false,
            (Some(before), _) => told.before == Some(before),
            (None, after) => told.after == after,
        }
    }
}

fn places<'a>(text: &'a str, promise: &str) -> Vec<Place<'a>> {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let bare = |line: &str| line == promise || strip_marks(line) == strip_marks(promise);
    lines
        .iter()
        .enumerate()
        .filter(|(_, line)| bare(line))
        .map(|(index, _)| Place {
            before: index.checked_sub(1).map(|before| lines[before]),
            after: lines.get(index + 1).copied(),
        })
        .collect()
}

fn strip_marks(line: &str) -> &str {
    line.trim_matches(|character: char| {
        character.is_whitespace() || MARKDOWN_MARKS.contains(&character)
    })
}

fn is_tagged(text: &str, promise: &str, prompt: &str) -> bool {
    let told: Vec<&str> = tagged_lines(prompt, promise);
    tagged_lines(text, promise)
        .iter()
        .any(|line| !told.contains(line))
}

/// The lines (from the opening tag's to the closing tag's) in which the promise stands between tags.
fn tagged_lines<'a>(text: &'a str, promise: &str) -> Vec<&'a str> {
    const OPEN: &str = "<promise>";
    const CLOSE: &str = "</promise>";
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(open) = text[from..].find(OPEN).map(|at| from + at) {
        let inner = open + OPEN.len();
        let Some(close) = text[inner..].find(CLOSE).map(|at| inner + at) else {
            break;
        };
        if text[inner..close].trim() == promise {
            let start = text[..open].rfind('\n').map_or(0, |at| at + 1);
            let end = text[close..].find('\n').map_or(text.len(), |at| close + at);
            found.push(text[start..end].trim());
        }
        from = inner;
    }
    found
}

fn is_mentioned(text: &str, promise: &str, prompt: &str) -> bool {
    let told: Vec<&str> = prompt
        .lines()
        .map(str::trim)
        .filter(|line| line.contains(promise))
        .collect();
    text.lines()
        .map(str::trim)
        .any(|line| line.contains(promise) && !told.contains(&line))
}

/// Final words without a last line that only keeps the promise; words that are nothing else stay.
pub fn answer_in(text: &str, promise: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let kept = match lines.split_last() {
        Some((last, before))
            if last.contains(promise) && before.iter().any(|line| !line.trim().is_empty()) =>
        {
            before
        }
        _ => &lines[..],
    };
    kept.join("\n").trim().to_owned()
}

/// A text by somebody else, without the promise: what the agent is told must neither say it for the agent nor make the
/// agent's own saying of it look like an echo. Longer words that only contain it stay.
pub fn taken_out(text: &str, promise: &str) -> String {
    let core = core_of(promise);
    if core.is_empty() {
        return text.to_owned();
    }
    // Underscores around it are marks like any others, as far as no word goes on behind them.
    let goes_on = |beyond: Option<char>| beyond.is_some_and(char::is_alphanumeric);
    let mut clean = String::with_capacity(text.len());
    let mut done = 0;
    for (at, found) in text.match_indices(core) {
        let end = at + found.len();
        let inside = goes_on(text[..at].trim_end_matches('_').chars().next_back())
            || goes_on(text[end..].trim_start_matches('_').chars().next());
        if !inside {
            clean.push_str(&text[done..at]);
            clean.push_str(mark_for(core));
            done = end;
        }
    }
    clean.push_str(&text[done..]);
    clean
}

/// The same for what anybody may have sent, by the rule that the promise is looked for with: under the loose one, a longer word
/// that contains it would be enough.
pub fn withheld(text: &str, promise: &str, rule: PromiseMatch) -> String {
    let core = core_of(promise);
    match rule {
        PromiseMatch::Line => taken_out(text, promise),
        PromiseMatch::Contains if core.is_empty() => text.to_owned(),
        PromiseMatch::Contains => text.replace(core, mark_for(core)),
    }
}

/// What stands in its place where the promise is taken out; it must not say it itself.
fn mark_for(core: &str) -> &'static str {
    const MARK: &str = "[the promise]";
    match MARK.contains(core) {
        true => "[…]",
        false => MARK,
    }
}

/// The promise without marks around it.
fn core_of(promise: &str) -> &str {
    let promise = promise.trim();
    match strip_marks(promise) {
        "" => promise,
        core => core,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = "Build it.\n\nWhen all is done, end with a line that holds only the words TASK_COMPLETE and nothing else.";

    #[test]
    fn line_rule() {
        for (text, kept) in [
            ("TASK_COMPLETE", true),
            ("All tests pass.\n\nTASK_COMPLETE\n", true),
            ("  TASK_COMPLETE  ", true),
            ("**TASK_COMPLETE**", true),
            ("`TASK_COMPLETE`", true),
            ("## TASK_COMPLETE", true),
            ("```\nTASK_COMPLETE\n```", true),
            ("done\r\nTASK_COMPLETE\r\n", true),
            ("<promise>TASK_COMPLETE</promise>", true),
            ("All good. <promise> TASK_COMPLETE\n</promise>", true),
            ("I will print TASK_COMPLETE when done", false),
            ("TASK_COMPLETE.", false),
            ("task_complete", false),
            ("NOT TASK_COMPLETE", false),
            ("TASK_COMPLETED", false),
            ("> TASK_COMPLETE", false),
            ("<promise>NOT TASK_COMPLETE</promise>", false),
            ("<promise>TASK_COMPLETE", false),
            ("", false),
            (PROMPT, false),
        ] {
            assert_eq!(
                is_kept(text, "TASK_COMPLETE", PromiseMatch::Line, PROMPT),
                kept,
                "{text:?}"
            );
        }
    }

    #[test]
    fn an_objective_that_spells_the_promise_does_not_complete_itself() {
        let prompt = "Do it and say\nTASK_COMPLETE\nat the end.\n<promise>TASK_COMPLETE</promise>\nRules follow.";
        for (text, kept) in [
            (prompt, false),
            ("Do it and say\nTASK_COMPLETE\nat the end.", false),
            (
                "TASK_COMPLETE\nat the end.\n<promise>TASK_COMPLETE</promise>",
                false,
            ),
            ("It is all done.\nTASK_COMPLETE", true),
            ("TASK_COMPLETE", true),
            (
                "You said:\nDo it and say\nTASK_COMPLETE\nat the end.\nIt is done now.\nTASK_COMPLETE",
                true,
            ),
        ] {
            assert_eq!(
                is_kept(text, "TASK_COMPLETE", PromiseMatch::Line, prompt),
                kept,
                "{text:?}"
            );
        }
    }

    #[test]
    fn contains_rule() {
        for (text, kept) in [
            ("so: TASK_COMPLETE!", true),
            ("nothing", false),
            (PROMPT, false),
            (
                "When all is done, end with a line that holds only the words TASK_COMPLETE and nothing else.",
                false,
            ),
        ] {
            assert_eq!(
                is_kept(text, "TASK_COMPLETE", PromiseMatch::Contains, PROMPT),
                kept,
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_promise_is_taken_out_of_what_others_say() {
        for (text, promise, clean) in [
            (
                "It said TASK_COMPLETE.",
                "TASK_COMPLETE",
                "It said [the promise].",
            ),
            (
                "TASK_COMPLETE\n**TASK_COMPLETE**",
                "TASK_COMPLETE",
                "[the promise]\n**[the promise]**",
            ),
            (
                "<promise>DONE</promise>",
                "**DONE**",
                "<promise>[the promise]</promise>",
            ),
            (
                "It was abandoned, not done.",
                "done",
                "It was abandoned, not [the promise].",
            ),
            ("nothing", "DONE", "nothing"),
            (
                "__TASK_COMPLETE__ _TASK_COMPLETE",
                "TASK_COMPLETE",
                "__[the promise]__ _[the promise]",
            ),
            ("NOT_TASK_COMPLETE", "TASK_COMPLETE", "NOT_TASK_COMPLETE"),
            ("TASK_COMPLETE_2", "TASK_COMPLETE", "TASK_COMPLETE_2"),
        ] {
            assert_eq!(taken_out(text, promise), clean);
        }
        // Otherwise the agent that keeps its promise in the same words would be taken for an echo.
        let told = taken_out("<promise>DONE</promise>", "DONE");
        assert!(is_kept(
            "<promise>DONE</promise>",
            "DONE",
            PromiseMatch::Line,
            &told
        ));
    }

    #[test]
    fn what_strangers_send_holds_the_promise_under_neither_rule() {
        for promise in [
            "DONE",
            "**DONE**",
            "the promise",
            "promise",
            "D",
            " DONE ",
            "[the promise]",
        ] {
            for text in [
                "DONE",
                "ABANDONED",
                "__DONE__",
                "so: promise!",
                "the promise",
                "[the promise]",
            ] {
                for rule in [PromiseMatch::Line, PromiseMatch::Contains] {
                    let told = withheld(text, promise, rule);
                    assert!(
                        !is_kept(&told, promise, rule, ""),
                        "{told:?} keeps {promise:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn promises_of_several_words_and_marks() {
        assert!(is_kept("ALL GREEN", "ALL GREEN", PromiseMatch::Line, ""));
        assert!(is_kept("**DONE**", "**DONE**", PromiseMatch::Line, ""));
        assert!(!is_kept("ALL  GREEN", "ALL GREEN", PromiseMatch::Line, ""));
        assert!(!is_kept("anything", " ", PromiseMatch::Contains, ""));
    }

    #[test]
    fn the_promise_is_no_part_of_the_answer() {
        for (text, answer) in [
            ("All done.\n\nTASK_COMPLETE\n", "All done."),
            ("All done.\n<promise>TASK_COMPLETE</promise>", "All done."),
            ("TASK_COMPLETE", "TASK_COMPLETE"),
            ("TASK_COMPLETE\nThat was it.", "TASK_COMPLETE\nThat was it."),
            ("", ""),
        ] {
            assert_eq!(answer_in(text, "TASK_COMPLETE"), answer);
        }
    }
}
