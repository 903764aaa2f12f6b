//! Points that are written without git are the very ones that git would have made, in one history with those that git did make; a kill
//! between any two writes leaves a whole repository.

use super::yard::{SESSION, Yard, git_in};
use proptest::prelude::*;
use ralphd::model::git::Author;
use ralphd::workspace::git::{Recall, Recorded, Tool, record_with};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A plain directory whose points git makes: a setting that nobody knows the meaning of is left to it.
fn by_git() -> Yard {
    let author = Author::parse("Night Shift <night@example.org>").unwrap();
    let settings = vec![("ralphd.nothing".to_owned(), "x".to_owned())];
    let mut yard = Yard::plain();
    yard.tool = Tool::new(author, settings);
    yard
}

/// Whether the newest point of a plain directory was written without git, which always leaves an index.
fn is_written(yard: &Yard) -> bool {
    !yard.shadow.join("index").exists()
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(future)
}

/// One thing that an agent does.
#[derive(Clone, Debug)]
enum Deed {
    Write(&'static str, Vec<u8>),
    Append(&'static str, &'static str),
    Remove(&'static str),
    Move(&'static str, &'static str),
    Link(&'static str, &'static str),
    Mode(&'static str, u32),
    Repository(&'static str),
}

fn do_it(yard: &Yard, deed: &Deed) {
    let there = |name: &str| std::fs::symlink_metadata(yard.path(name)).is_ok();
    let make_room = |name: &str| {
        let path = yard.path(name);
        for above in path.ancestors().skip(1).filter(|it| !it.is_dir()) {
            let _ = std::fs::remove_file(above);
        }
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = std::fs::remove_dir_all(&path);
    };
    match deed {
        Deed::Write(name, content) => {
            make_room(name);
            std::fs::write(yard.path(name), content).unwrap();
        }
        Deed::Append(name, text) => {
            let before = std::fs::read(yard.path(name)).unwrap_or_default();
            make_room(name);
            std::fs::write(yard.path(name), [&before, text.as_bytes()].concat()).unwrap();
        }
        Deed::Remove(name) => {
            let _ = std::fs::remove_file(yard.path(name));
            let _ = std::fs::remove_dir_all(yard.path(name));
        }
        Deed::Move(from, to) if there(from) && !there(to) => {
            make_room(to);
            let _ = std::fs::rename(yard.path(from), yard.path(to));
        }
        Deed::Link(name, target) if !there(name) => {
            make_room(name);
            symlink(target, yard.path(name)).unwrap();
        }
        Deed::Mode(name, mode) if yard.path(name).is_file() => {
            let mode = PermissionsExt::from_mode(*mode);
            std::fs::set_permissions(yard.path(name), mode).unwrap();
        }
        Deed::Repository(name) => {
            std::fs::create_dir_all(yard.path(name)).unwrap();
            git_in(&yard.path(name), &["init", "--quiet"]);
        }
        _ => {}
    }
}

/// Both ways side by side, and after every turn the same point.
fn assert_same(turns: &[Vec<Deed>]) -> Yard {
    let (written, asked) = (Yard::plain(), by_git());
    let mut recall = Recall::default();
    let mut last: Option<Recorded> = None;
    for (number, deeds) in (0i64..).zip(turns) {
        for deed in deeds {
            do_it(&written, deed);
            do_it(&asked, deed);
        }
        let since = last.as_ref().and_then(|point| point.commit.as_deref());
        let point = wait(async {
            let moment = written.moment(number, since);
            recall.fingerprint(&written.workspace);
            record_with(&written.ground().await, &moment, &mut recall).await
        });
        let point = point.unwrap();
        let expected = wait(asked.record(number, last.as_ref()));
        assert_eq!(point, expected, "after turn {number}: {deeds:?}");
        last = Some(point);
    }
    assert!(!is_written(&asked), "the other side is not git's");
    written.points(&["fsck", "--strict"]);
    written.assert_nothing_lost();
    let log = |yard: &Yard| std::fs::read_to_string(yard.shadow.join("logs/HEAD")).unwrap();
    assert_eq!(log(&written), log(&asked));
    let refs = |yard: &Yard| yard.points(&["for-each-ref"]);
    assert_eq!(refs(&written), refs(&asked));
    written
}

fn text(name: &'static str, text: &str) -> Deed {
    Deed::Write(name, text.as_bytes().to_vec())
}

#[test]
fn every_turn_makes_the_point_that_git_would_make() {
    let many: Vec<u8> = (0..20_000).flat_map(|_| *b"line\n").collect();
    let turns = [
        vec![text("a.txt", "one\ntwo\n"), text("src/b.rs", "fn b() {}\n")],
        vec![],
        vec![
            Deed::Append("a.txt", "three"),
            text("état/é", "x\n"),
            text("empty", ""),
        ],
        vec![Deed::Mode("a.txt", 0o755), text("state/handoff.json", "{}")],
        vec![Deed::Remove("empty")],
        vec![Deed::Move("src/b.rs", "src/deep/c.rs")],
        vec![Deed::Link("link", "a.txt")],
        vec![Deed::Write("logo.png", b"\x89PNG\0\0".to_vec())],
        vec![Deed::Mode("logo.png", 0o755)],
        vec![text("src", "now a file\n")],
        vec![Deed::Write("many", many.clone())],
        vec![Deed::Write("many", many[5..].to_vec())],
        vec![Deed::Write("large", vec![b'x'; 9 << 20])],
        vec![Deed::Remove("large"), text("a.txt", "one\n")],
        vec![text(".env", "secret\n"), text("b", "b\n")],
        vec![Deed::Remove(".env"), Deed::Append("b", "c\n")],
        vec![text(".gitignore", "*.o\n"), text("x.o", "x")],
        vec![Deed::Remove(".gitignore")],
        vec![Deed::Repository("inner"), text("inner/x", "x\n")],
        vec![Deed::Remove("inner")],
        vec![Deed::Append("b", "d\n")],
    ];
    let yard = assert_same(&turns);
    assert!(is_written(&yard), "the last turn was simple");
}

fn deed() -> impl Strategy<Value = Deed> {
    let names = || prop::sample::select(vec!["a", "b", "d/a", "d/b", "d.x", "d/e/f", "link"]);
    let line = prop::sample::select(vec!["x\n", "y\n", "\n", "}\n", "no end", "\0"]);
    let content = prop::collection::vec(line.clone(), 0..12);
    prop_oneof![
        4 => (names(), content).prop_map(|(name, lines)| text(name, &lines.concat())),
        4 => (names(), line).prop_map(|(name, line)| Deed::Append(name, line)),
        2 => names().prop_map(Deed::Remove),
        1 => (names(), names()).prop_map(|(from, to)| Deed::Move(from, to)),
        1 => names().prop_map(|name| Deed::Link(name, "a")),
        1 => (names(), prop::sample::select(vec![0o644, 0o755, 0o610])).prop_map(|(name, mode)| Deed::Mode(name, mode)),
        1 => prop::sample::select(vec![text(".gitignore", "b\n"), Deed::Remove(".gitignore")]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn whatever_agents_do_both_ways_make_the_same(
        turns in prop::collection::vec(prop::collection::vec(deed(), 0..4), 1..8),
    ) {
        assert_same(&turns);
    }
}

#[tokio::test]
async fn the_past_is_one_whoever_wrote_it() {
    let yard = Yard::plain();
    let mut recall = Recall::default();
    let mut points: Vec<Recorded> = Vec::new();
    for number in 0..6 {
        yard.write("count", format!("{number}\n"));
        yard.write(&format!("dir/{number}"), "x\n");
        // Git packs what is there, and makes the next one itself.
        if number == 3 {
            yard.points(&["gc", "--quiet"]);
        }
        let since = points.last().and_then(|point| point.commit.as_deref());
        let moment = yard.moment(number, since);
        let point = record_with(&yard.ground().await, &moment, &mut recall).await;
        points.push(point.unwrap());
        let by_hand = is_written(&yard);
        assert!(by_hand || number >= 3, "{number}");
        assert_eq!(points.last().unwrap().facts.file_count > 0, number > 0);
    }
    for (number, point) in points.iter().enumerate().rev() {
        yard.restore(point, 1_800_000_000_000 + number as i64).await;
        assert_eq!(yard.read("count"), Some(format!("{number}\n")));
        assert_eq!(yard.files_of(point).len(), number + 2);
    }
    yard.write("count", "another way\n");
    let moment = yard.moment(7, points[0].commit.as_deref());
    let other = record_with(&yard.ground().await, &moment, &mut recall).await;
    let other = other.unwrap();
    assert_eq!(other.facts.lines(), ["1 file changed, +1 -1: count +1 -1"]);
    let parent = format!("{}^", other.commit.as_deref().unwrap());
    assert_eq!(Some(yard.points(&["rev-parse", &parent])), points[0].commit);
    yard.points(&["fsck", "--strict"]);
    yard.assert_nothing_lost();
}

#[tokio::test]
async fn a_change_in_the_same_moment_is_not_missed() {
    let yard = Yard::plain();
    let mut recall = Recall::default();
    let mut last: Option<String> = None;
    for number in 0..50 {
        yard.write("count", format!("{:02}\n", number));
        recall.fingerprint(&yard.workspace);
        let moment = yard.moment(number, last.as_deref());
        let point = record_with(&yard.ground().await, &moment, &mut recall).await;
        let point = point.unwrap();
        assert!(point.changed && is_written(&yard), "{number}");
        last = point.commit;
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => drop(std::fs::copy(from, to).unwrap()),
        }
    }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        match entry.path().is_dir() {
            true => found.extend(files_below(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// In the order in which they are written: contents, trees, the commit, its name, and then HEAD's log and HEAD.
fn order_of(yard: &Yard, path: &Path) -> u8 {
    let name = path.strip_prefix(&yard.shadow).unwrap();
    let words = name.to_string_lossy().replace('/', "");
    match words.strip_prefix("objects") {
        Some(id) => match yard.points(&["cat-file", "-t", id]).as_str() {
            "blob" => 0,
            "tree" => 1,
            _ => 2,
        },
        None if name.starts_with("refs") => 3,
        None if name.starts_with("logs") => 4,
        None => 5,
    }
}

#[tokio::test]
async fn a_kill_between_two_writes_leaves_a_whole_repository() {
    let yard = Yard::plain();
    yard.write("a.txt", "one\n");
    yard.write("d/b.txt", "b\n");
    let start = yard.record(0, None).await;
    let before = yard.place().join("before");
    copy(&yard.shadow, &before);
    yard.write("a.txt", "two\n");
    yard.write("d/c.txt", "c\n");
    let done = yard.record(1, Some(&start)).await;
    let after = yard.place().join("after");
    let read = |place: &Path, file: &Path| {
        std::fs::read(place.join(file.strip_prefix(&yard.shadow).unwrap())).ok()
    };
    let mut written: Vec<PathBuf> = files_below(&yard.shadow);
    written.retain(|file| read(&before, file) != read(&yard.shadow, file));
    written.sort_by_key(|file| order_of(&yard, file));
    assert_eq!(written.len(), 8, "{written:?}");
    copy(&yard.shadow, &after);
    for count in 0..=written.len() {
        for half in [false, true] {
            std::fs::remove_dir_all(&yard.shadow).unwrap();
            copy(&before, &yard.shadow);
            let put = |file: &PathBuf, to: &Path| {
                std::fs::create_dir_all(to.parent().unwrap()).unwrap();
                let _ = std::fs::remove_file(to);
                std::fs::write(to, read(&after, file).unwrap()).unwrap();
            };
            written[..count].iter().for_each(|file| put(file, file));
            // The next one is there under its first name: in part, or whole under its lock.
            if let Some(next) = written.get(count).filter(|_| half) {
                let first_name = match is_object(&yard, next) {
                    true => next.with_file_name("tmp_obj_x"),
                    false => PathBuf::from(format!("{}.lock", next.display())),
                };
                put(next, &first_name);
            }
            yard.points(&["fsck", "--strict"]);
            let again = yard.record(1, Some(&start)).await;
            assert_eq!(again, done, "killed after {count}, {half}");
            let name = format!("refs/ralphd/{SESSION}/1");
            assert_eq!(Some(yard.points(&["rev-parse", &name])), done.commit);
            assert_eq!(Some(yard.points(&["rev-parse", "HEAD"])), done.commit);
            yard.points(&["fsck", "--strict"]);
        }
    }
}

fn is_object(yard: &Yard, file: &Path) -> bool {
    file.starts_with(yard.shadow.join("objects"))
}
