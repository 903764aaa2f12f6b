//! What is written here is what git itself would have written, and git finds no fault with it. Compared with the git command, on whatever
//! comes to mind.

use super::lines::{Counted, count};
use super::names::{Naming, head};
use super::object::{Id, Kind, Object, Objects};
use super::tree::{Entry, Flat, Mode, fold};
use crate::model::git::Author;
use proptest::prelude::*;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

fn git(directory: &Path, words: &[&str]) -> String {
    git_with(directory, words, b"")
}

fn git_with(directory: &Path, words: &[&str], input: &[u8]) -> String {
    use std::io::Write;
    let mut child = Command::new("git")
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_DATE", "@1700000000 +0000")
        .env("GIT_COMMITTER_DATE", "@1700000000 +0000")
        .env("GIT_AUTHOR_NAME", "Night Shift")
        .env("GIT_AUTHOR_EMAIL", "night@example.org")
        .env("GIT_COMMITTER_NAME", "Night Shift")
        .env("GIT_COMMITTER_EMAIL", "night@example.org")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let said = child.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "git {words:?}: {complaint}");
    String::from_utf8_lossy(&said.stdout).trim_end().to_owned()
}

fn bare() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    git(place.path(), &["init", "--quiet", "--bare"]);
    place
}

/// One of two versions of a file, in pieces that git's short cuts are made for: lines that are everywhere, blocks that move, few that are new.
fn version(max_lines: usize) -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        4 => Just("\n".to_owned()),
        3 => Just("}\n".to_owned()),
        4 => (0..12u8).prop_map(|number| format!("line {number}\n")),
        3 => (0..10_000u32).prop_map(|number| format!("{number}\n")),
        1 => Just("no end".to_owned()),
    ];
    proptest::collection::vec(line, 0..max_lines).prop_map(|lines| lines.concat().into_bytes())
}

/// A second version that is mostly the first.
fn edited(max_lines: usize) -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let (one, more) = (version(max_lines), version(max_lines));
    (one, more, 0..max_lines, 0..max_lines / 6).prop_map(|(one, more, at, cut)| {
        let lines: Vec<&[u8]> = one.split_inclusive(|byte| *byte == b'\n').collect();
        let at = at.min(lines.len());
        let rest = (at + cut).min(lines.len());
        let inside: Vec<&[u8]> = more
            .split_inclusive(|byte| *byte == b'\n')
            .take(cut)
            .collect();
        let other = [
            lines[..at].concat(),
            inside.concat(),
            lines[rest..].concat(),
        ]
        .concat();
        (one, other)
    })
}

/// What git counts between many pairs of versions, in one call.
fn numstat(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<Option<(u64, u64)>> {
    let place = bare();
    let objects = Objects::of(place.path());
    let (mut left, mut right) = (Flat::new(), Flat::new());
    for (number, (one, other)) in pairs.iter().enumerate() {
        for (side, content) in [(&mut left, one), (&mut right, other)] {
            let blob = Object::new(Kind::Blob, content.clone());
            objects.write(&blob).unwrap();
            let entry = Entry {
                mode: Mode::Plain,
                id: blob.id,
            };
            side.insert(format!("{number:06}").into_bytes(), entry);
        }
    }
    let tree = |files: &Flat| {
        let trees = fold(files);
        trees.iter().for_each(|tree| objects.write(tree).unwrap());
        trees.last().unwrap().id.to_string()
    };
    let said = git(
        place.path(),
        &["diff-tree", "-r", "--numstat", &tree(&left), &tree(&right)],
    );
    let mut counted = vec![Some((0, 0)); pairs.len()];
    for line in said.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let number: usize = words[2].parse().unwrap();
        counted[number] = words[0].parse().ok().zip(words[1].parse().ok());
    }
    counted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn lines_are_counted_as_git_counts_them(
        edits in proptest::collection::vec(edited(60), 60),
        large in proptest::collection::vec(edited(900), 10),
        others in proptest::collection::vec((version(60), version(60)), 40),
        torn in proptest::collection::vec((version(400), version(400)), 4),
    ) {
        let pairs: Vec<_> = [edits, large, others, torn].concat();
        let by_git = numstat(&pairs);
        let mut known = 0;
        for ((one, other), by_git) in pairs.iter().zip(by_git) {
            let Some(counted) = count(one, other) else { continue };
            known += 1;
            let counted = match counted {
                Counted::Lines { added, removed } => Some((added, removed)),
                Counted::Binary => None,
            };
            prop_assert_eq!(counted, by_git, "{:?} {:?}", String::from_utf8_lossy(one), String::from_utf8_lossy(other));
        }
        prop_assert!(known * 2 > pairs.len(), "git would be asked too often: only {} of {} are known", known, pairs.len());
    }

    #[test]
    fn trees_and_commits_are_those_of_git(
        files in proptest::collection::btree_map("[a-c.0é /-]{1,3}(/[a-c.0 -]{1,2}){0,3}", (0..3usize, any::<[u8; 2]>()), 0..12),
        words in "[ -~é]{1,20}",
    ) {
        let place = bare();
        let work = tempfile::tempdir().unwrap();
        let objects = Objects::of(place.path());
        let mut flat = Flat::new();
        for (path, (kind, content)) in &files {
            let path = path.split('/').filter(|part| !part.is_empty() && *part != "." && *part != "..");
            let path = path.collect::<Vec<_>>().join("/");
            let there = work.path().join(&path);
            if path.is_empty() || std::fs::create_dir_all(there.parent().unwrap()).is_err() || std::fs::symlink_metadata(&there).is_ok() {
                continue;
            }
            let mode = [Mode::Plain, Mode::Executable, Mode::Link][*kind];
            let content = content.map(|byte| byte | 1);
            match mode {
                Mode::Link => std::os::unix::fs::symlink(OsStr::from_bytes(&content), &there).unwrap(),
                _ => std::fs::write(&there, content).unwrap(),
            }
            if mode == Mode::Executable {
                let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(&there, permissions).unwrap();
            }
            let blob = Object::new(Kind::Blob, content.to_vec());
            objects.write(&blob).unwrap();
            flat.insert(path.into_bytes(), Entry { mode, id: blob.id });
        }
        let trees = fold(&flat);
        trees.iter().for_each(|tree| objects.write(tree).unwrap());
        let tree = trees.last().unwrap().id;
        let other = bare();
        let work_tree = work.path().to_str().unwrap();
        let git_dir = other.path().to_str().unwrap();
        let with = |rest: &[&'static str]| [&["--git-dir", git_dir, "--work-tree", work_tree], rest].concat();
        git(work.path(), &with(&["-c", "core.autocrlf=false", "add", "-A"]));
        prop_assert_eq!(git(work.path(), &with(&["write-tree"])), tree.to_string());
        let message = format!("{}\n\nA-Word: 1\n", words);
        let text = format!(
            "tree {tree}\nauthor Night Shift <night@example.org> 1700000000 +0000\ncommitter Night Shift <night@example.org> 1700000000 +0000\n\n{message}"
        );
        let commit = Object::new(Kind::Commit, text.into_bytes());
        objects.write(&commit).unwrap();
        let by_git = git_with(place.path(), &["commit-tree", "-F", "-", &tree.to_string()], message.as_bytes());
        prop_assert_eq!(by_git, commit.id.to_string());
        git(place.path(), &["fsck", "--strict"]);
    }
}

#[test]
fn names_are_those_of_git() {
    let place = bare();
    let (written, asked) = (place.path().join("written"), place.path().join("asked"));
    let commit = |text: &str| {
        Object::new(Kind::Commit, format!("tree {}\nauthor Night Shift <night@example.org> 1700000000 +0000\ncommitter Night Shift <night@example.org> 1700000000 +0000\n\n{text}\n", Object::new(Kind::Tree, Vec::new()).id).into_bytes())
    };
    let commits = [commit("one"), commit("two")];
    let author = Author::parse("Night Shift <night@example.org>").unwrap();
    for git_dir in [&written, &asked] {
        std::fs::create_dir(git_dir).unwrap();
        git(git_dir, &["init", "--quiet", "--bare"]);
        let objects = Objects::of(git_dir);
        objects.write(&Object::new(Kind::Tree, Vec::new())).unwrap();
        commits
            .iter()
            .for_each(|commit| objects.write(commit).unwrap());
    }
    for (number, commit) in commits.iter().enumerate() {
        let (id, name) = (commit.id.to_string(), format!("refs/ralphd/s/{number}"));
        let naming = Naming {
            git_dir: &written,
            work_tree: place.path(),
            author: &author,
            at_s: 1_700_000_000,
            why: format!("ralphd: iteration {number}"),
        };
        let from = head(&written).unwrap();
        assert!(naming.name_point(&name, commit.id).unwrap());
        assert!(naming.move_head(&from, commit.id).unwrap());
        assert!(!naming.move_head(&from, commit.id).unwrap(), "it has moved");
        let orders = format!(
            "option no-deref\0update HEAD\0{id}\0{}\0update {name}\0{id}\0\0",
            from.commit.map(|id| id.to_string()).unwrap_or_default()
        );
        let words = ["-c", "core.logAllRefUpdates=true", "update-ref", "-m"];
        let words = [&words[..], &[&naming.why, "-z", "--stdin"]].concat();
        git_with(&asked, &words, orders.as_bytes());
    }
    for name in ["HEAD", "logs/HEAD", "refs/ralphd/s/0", "refs/ralphd/s/1"] {
        let read = |place: &Path| std::fs::read_to_string(place.join(name)).unwrap();
        assert_eq!(read(&written), read(&asked), "{name}");
    }
    assert_eq!(
        head(&written).unwrap().commit,
        Id::parse(&commits[1].id.to_string())
    );
    // Left by somebody who was killed.
    std::fs::write(written.join("HEAD.lock"), "").unwrap();
    let naming = Naming {
        git_dir: &written,
        work_tree: place.path(),
        author: &author,
        at_s: 1_700_000_000,
        why: "again".to_owned(),
    };
    let from = head(&written).unwrap();
    assert!(naming.move_head(&from, commits[0].id).unwrap());
    git(&written, &["fsck", "--strict"]);
}
