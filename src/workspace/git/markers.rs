//! Conflict markers that were left in a file. A line that one of the two sides has itself is none: there are texts about conflicts.

use super::merge::Sum;
use super::names::shown;
use super::repository::Repository;
use crate::files;
use anyhow::Result;
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

const SIZE: usize = 7;
const MAX_FILE_BYTES: u64 = 64 << 20;
const MAX_LINES_NAMED: usize = 6;

/// The files of a merge in which markers are left, each in words.
pub async fn left(tree: &Repository, sum: &Sum) -> Result<Vec<String>> {
    let paths: BTreeSet<&[u8]> = sum
        .conflicts
        .iter()
        .map(|stage| stage.entry.path.as_slice())
        .collect();
    let mut left = Vec::new();
    for path in paths {
        let Ok(content) = files::read_regular(
            &tree.work_tree().join(OsStr::from_bytes(path)),
            MAX_FILE_BYTES,
        ) else {
            continue;
        };
        let size = size(tree, path).await?;
        let mut lines = lines(&content, size);
        if lines.is_empty() {
            continue;
        }
        let sides: Vec<&str> = sum
            .conflicts
            .iter()
            .filter(|stage| stage.entry.path == path && stage.number > 1)
            .map(|stage| stage.entry.object.as_str())
            .collect();
        for side in sides {
            let own = tree
                .call(["cat-file", "blob", side])
                .bytes()
                .await
                .unwrap_or_default();
            let own: HashSet<&[u8]> = own.split(|byte| *byte == b'\n').map(bare).collect();
            lines.retain(|(_, line)| !own.contains(line));
        }
        if !lines.is_empty() {
            let numbers: Vec<String> = lines
                .iter()
                .take(MAX_LINES_NAMED)
                .map(|(number, _)| number.to_string())
                .collect();
            left.push(format!(
                "{}: conflict markers in line {}",
                shown(path),
                numbers.join(", ")
            ));
        }
    }
    Ok(left)
}

/// How long markers are in a file: its attributes may say.
async fn size(tree: &Repository, path: &[u8]) -> Result<usize> {
    let mut input = path.to_vec();
    input.push(0);
    let said = tree
        .call(["check-attr", "-z", "--stdin", "conflict-marker-size"])
        .input(input)
        .bytes()
        .await?;
    let value = said
        .split(|byte| *byte == 0)
        .nth(2)
        .map(shown)
        .unwrap_or_default();
    Ok(value.parse().unwrap_or(SIZE).max(1))
}

/// The lines that look like markers, by number.
fn lines(content: &[u8], size: usize) -> Vec<(usize, &[u8])> {
    let lines = content.split(|byte| *byte == b'\n').map(bare);
    lines
        .enumerate()
        .map(|(number, line)| (number + 1, line))
        .filter(|(_, line)| is_marker(line, size))
        .collect()
}

fn bare(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn is_marker(line: &[u8], size: usize) -> bool {
    let Some(sign) = line.first().copied().filter(|sign| b"<=>|".contains(sign)) else {
        return false;
    };
    let rest = &line[line.iter().take_while(|byte| **byte == sign).count()..];
    let length = line.len() - rest.len();
    match sign {
        b'=' => length == size && (rest.is_empty() || rest.starts_with(b" ")),
        // Those of a conflict within a conflict are longer.
        _ => length >= size.min(SIZE) && (rest.is_empty() || rest.starts_with(b" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers() {
        for (line, expected) in [
            ("<<<<<<< refs/heads/main", true),
            ("<<<<<<<", true),
            ("<<<<<<<<< deeper", true),
            ("||||||| base", true),
            ("=======", true),
            (">>>>>>> refs/heads/agent/x:path", true),
            ("========", false),
            ("<<<<<<<x", false),
            ("<<<<<< six", false),
            (" <<<<<<< indented", false),
            ("> quoted", false),
            ("", false),
        ] {
            assert_eq!(is_marker(line.as_bytes(), SIZE), expected, "{line}");
        }
        let content = b"a\r\n<<<<<<< x\r\nb\r\n=======\r\n>>>>>>> y";
        let numbers: Vec<usize> = lines(content, SIZE)
            .into_iter()
            .map(|(number, _)| number)
            .collect();
        assert_eq!(numbers, [2, 4, 5]);
    }
}
