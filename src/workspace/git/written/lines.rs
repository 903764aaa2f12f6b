//! How many lines came and went between two versions of a file, as git would count them. The least number of them is one number, whatever
//! way it is found; so where git looks for the least itself, ours is git's. Where it may be content with less, nothing is said, and git is
//! to be asked. Pure.

use std::collections::HashMap;

/// From here on git may take a short cut: it begins at twice this many.
const MAX_DIFFERENCES: usize = 256;
/// Where git looks for what makes a file binary.
const LOOKED_AT_BYTES: usize = 8000;
/// Git's own limit on how often a line may occur and still be looked at.
const MAX_OFTEN: usize = 1024;

/// What git counts of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Lines { added: u64, removed: u64 },
    Binary,
}

/// The lines between two versions, of which a missing one is empty; nothing where only git knows.
pub fn count(before: &[u8], after: &[u8]) -> Option<Counted> {
    if is_binary(before) || is_binary(after) {
        return Some(Counted::Binary);
    }
    let (before, after) = (lines(before), lines(after));
    let (removed, added) = match before.is_empty() || after.is_empty() {
        true => (before.len(), after.len()),
        false => compare(&before, &after)?,
    };
    Some(Counted::Lines {
        added: added as u64,
        removed: removed as u64,
    })
}

fn is_binary(content: &[u8]) -> bool {
    let start = &content[..content.len().min(LOOKED_AT_BYTES)];
    memchr::memchr(0, start).is_some()
}

/// With their ends: a last line without one is another line.
fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

/// One side, with each line as a number that both sides share.
struct Side {
    numbers: Vec<usize>,
    /// How often each occurs on the other side.
    elsewhere: Vec<usize>,
    /// A line that occurs so often on the other side is one that git may pass over.
    often: usize,
}

fn compare(before: &[&[u8]], after: &[&[u8]]) -> Option<(usize, usize)> {
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut number = |line| {
        let next = known.len();
        *known.entry(line).or_insert(next)
    };
    let one: Vec<usize> = before.iter().map(|line| number(line)).collect();
    let other: Vec<usize> = after.iter().map(|line| number(line)).collect();
    let occurrences = |numbers: &[usize]| {
        let mut counts = vec![0; known.len()];
        numbers.iter().for_each(|number| counts[*number] += 1);
        counts
    };
    let (in_one, in_other) = (occurrences(&one), occurrences(&other));
    let start = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let shortest = one.len().min(other.len()) - start;
    let ends = one.iter().rev().zip(other.iter().rev());
    let end = ends.take(shortest).take_while(|(a, b)| a == b).count();
    let middle = |numbers: &[usize], elsewhere: Vec<usize>| Side {
        often: rough_root(numbers.len()).min(MAX_OFTEN),
        numbers: numbers[start..numbers.len() - end].to_vec(),
        elsewhere,
    };
    let (one, other) = (middle(&one, in_other), middle(&other, in_one));
    if one.may_be_passed_over() || other.may_be_passed_over() {
        return None;
    }
    let (left, right) = (one.shared(), other.shared());
    let differences = least_differences(&left, &right)?;
    let same = (left.len() + right.len() - differences) / 2;
    Some((one.numbers.len() - same, other.numbers.len() - same))
}

impl Side {
    /// Whether git may take a line for changed only because it is everywhere, and its neighbours on both sides are changed for sure.
    fn may_be_passed_over(&self) -> bool {
        let is_alone = |number: &usize| self.elsewhere[*number] == 0;
        let is_often = |number: &usize| self.elsewhere[*number] >= self.often;
        // A run of lines, each alone or often: is one often between two that are alone?
        let (mut after_alone, mut between) = (false, false);
        for number in &self.numbers {
            match (is_alone(number), is_often(number)) {
                (true, _) if between => return true,
                (true, _) => after_alone = true,
                (_, true) => between = after_alone,
                _ => (after_alone, between) = (false, false),
            }
        }
        false
    }

    /// Without the lines that the other side does not have.
    fn shared(&self) -> Vec<usize> {
        let is_shared = |number: &&usize| self.elsewhere[**number] > 0;
        self.numbers.iter().filter(is_shared).copied().collect()
    }
}

/// As rough as git's.
fn rough_root(mut number: usize) -> usize {
    let mut root = 1;
    while number > 0 {
        root <<= 1;
        number >>= 2;
    }
    root
}

/// The least number of lines taken away or put in on the way from one to the other (E. Myers, An O(ND) difference algorithm).
fn least_differences(one: &[usize], other: &[usize]) -> Option<usize> {
    let (length, width) = (one.len(), other.len());
    // How far one comes on each diagonal, of which the middle one is the first.
    let middle = MAX_DIFFERENCES + 1;
    let mut furthest = vec![0usize; 2 * middle + 1];
    for differences in 0..=MAX_DIFFERENCES {
        for diagonal in (middle - differences..=middle + differences).step_by(2) {
            let down = diagonal == middle - differences
                || (diagonal != middle + differences
                    && furthest[diagonal - 1] < furthest[diagonal + 1]);
            let mut x = match down {
                true => furthest[diagonal + 1],
                false => furthest[diagonal - 1] + 1,
            };
            // Beyond the edges there is nothing to find.
            let Some(mut y) = (x + middle).checked_sub(diagonal) else {
                continue;
            };
            while x < length && y < width && one[x] == other[y] {
                (x, y) = (x + 1, y + 1);
            }
            furthest[diagonal] = x;
            if x >= length && y >= width {
                return Some(differences);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted() {
        for (before, after, added, removed) in [
            ("", "", 0, 0),
            ("", "a", 1, 0),
            ("a\nb\n", "", 0, 2),
            ("1\n", "2\n", 1, 1),
            ("a", "a\n", 1, 1),
            ("a\nb\nc\n", "a\nx\nc\n", 1, 1),
            ("a\nb\n", "b\na\n", 1, 1),
            ("a\na\na\n", "a\na\n", 0, 1),
            ("a\nb\nc\nd\n", "d\na\nb\nc\n", 1, 1),
        ] {
            let expected = Some(Counted::Lines { added, removed });
            let counted = count(before.as_bytes(), after.as_bytes());
            assert_eq!(counted, expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn what_only_git_knows() {
        assert_eq!(count(b"a\0b", b""), Some(Counted::Binary));
        let lines: Vec<String> = (0..300).map(|number| format!("{number}\n")).collect();
        let turned: String = lines.iter().rev().cloned().collect();
        assert_eq!(count(lines.concat().as_bytes(), turned.as_bytes()), None);
        let before = "{\n}\n".repeat(50);
        let after = format!("new\n{{\nnew too\n{before}");
        assert_eq!(count(before.as_bytes(), after.as_bytes()), None);
    }
}
