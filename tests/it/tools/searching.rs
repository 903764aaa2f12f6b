//! glob and grep.

use super::Bench;
use ralphd::agent::tool::External;
use serde_json::json;
use std::time::{Duration, SystemTime};

fn tree() -> Bench {
    let bench = Bench::new(External::Deny);
    for (number, name) in [
        "src/main.rs",
        "src/deep/other.rs",
        "src/deep/note.md",
        "docs/a.md",
        ".github/ci.yml",
        "target/debug/built.rs",
        "src/deep/built/x.rs",
        ".git/config",
        "README.md",
    ]
    .into_iter()
    .enumerate()
    {
        bench.put(name, format!("first\nneedle in {name}\n"));
        let age = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - number as u64);
        let file = std::fs::File::options()
            .write(true)
            .open(bench.path(name))
            .unwrap();
        file.set_modified(age).unwrap();
    }
    bench.put(".gitignore", "/target\nbuilt/\n");
    bench
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[tokio::test]
async fn glob_finds_the_newest_first_and_leaves_out_what_git_ignores() {
    let bench = tree();
    for (arguments, expected) in [
        (
            json!({"pattern": "*.rs"}),
            vec!["src/main.rs", "src/deep/other.rs"],
        ),
        (json!({"pattern": "src/**/*.md"}), vec!["src/deep/note.md"]),
        (
            json!({"pattern": "*.md", "path": "docs"}),
            vec!["docs/a.md"],
        ),
        (
            json!({"pattern": "*", "path": "src/deep"}),
            vec!["src/deep/other.rs", "src/deep/note.md"],
        ),
        (
            json!({"pattern": "{docs,.github}/*"}),
            vec!["docs/a.md", ".github/ci.yml"],
        ),
        (
            json!({"pattern": "**/*.rs", "path": "target"}),
            vec!["target/debug/built.rs"],
        ),
        (
            json!({"pattern": format!("{}/src/*.rs", bench.path("").display().to_string().trim_end_matches('/'))}),
            vec!["src/main.rs"],
        ),
    ] {
        let said = bench.done("glob", arguments.clone()).await;
        assert_eq!(lines(&said), expected, "{arguments}");
    }
    let none = bench.done("glob", json!({"pattern": "*.py"})).await;
    assert!(none.starts_with("No file matches *.py."), "{none}");
    for (wrong, words) in [
        (json!({"pattern": "../*"}), "leads out of the workspace"),
        (json!({"pattern": "/etc/*"}), "leads out of the workspace"),
        (json!({"pattern": "a[b"}), "is no glob"),
        (json!({"pattern": "*", "path": "README.md"}), "is a file"),
        (
            json!({"pattern": "*", "path": "nowhere"}),
            "There is no nowhere",
        ),
        (json!({"glob": "*"}), "has no argument \"glob\""),
    ] {
        let said = bench.refused("glob", wrong).await;
        assert!(said.contains(words), "{said}");
    }
}

#[tokio::test]
async fn glob_shows_two_hundred() {
    let bench = Bench::new(External::Deny);
    for number in 0..450 {
        bench.put(&format!("many/{number}.txt"), "");
    }
    let said = bench.done("glob", json!({"pattern": "*.txt"})).await;
    assert_eq!(lines(&said).len(), 201);
    assert!(said.ends_with("[250 files more; give a narrower pattern or path to see them]\n"));
}

#[tokio::test]
async fn grep_shows_lines_with_their_places() {
    let bench = tree();
    bench.put("binary", b"needle\0needle\n");
    for (arguments, expected) in [
        (
            json!({"pattern": "needle", "glob": "*.rs"}),
            vec![
                "src/deep/other.rs:2:needle in src/deep/other.rs",
                "src/main.rs:2:needle in src/main.rs",
            ],
        ),
        (
            json!({"pattern": "NEEDLE", "path": "docs"}),
            vec![
                "No line matches NEEDLE. Binary files, .git and what .gitignore names were not searched.",
            ],
        ),
        (
            json!({"pattern": "(?i)NEEDLE in d", "path": null}),
            vec!["docs/a.md:2:needle in docs/a.md"],
        ),
        (
            json!({"pattern": "^first$", "path": "README.md"}),
            vec!["README.md:1:first"],
        ),
        (
            json!({"pattern": "needle", "path": "src", "glob": "!*.rs"}),
            vec!["src/deep/note.md:2:needle in src/deep/note.md"],
        ),
    ] {
        let said = bench.done("grep", arguments.clone()).await;
        assert_eq!(lines(&said), expected, "{arguments}");
    }
    for (wrong, words) in [
        (json!({"pattern": "a("}), "The pattern cannot be used"),
        (json!({"pattern": "(?=x)"}), "no look-around"),
        (json!({"pattern": "a\nb"}), "one line at a time"),
        (json!({"pattern": "x", "path": "binary"}), "binary file"),
        (json!({"path": "src"}), "needs the argument \"pattern\""),
    ] {
        let said = bench.refused("grep", wrong).await;
        assert!(said.contains(words), "{said}");
    }
}

#[tokio::test]
async fn grep_keeps_within_bounds() {
    let bench = Bench::new(External::Deny);
    bench.put("wide", format!("{}needle\n", "x".repeat(5000)));
    bench.put("many", "needle and some more words\n".repeat(500_000));
    let said = bench.done("grep", json!({"pattern": "needle"})).await;
    assert!(said.len() < 40_000, "{}", said.len());
    assert_eq!(lines(&said).len(), 201);
    assert!(
        said.contains("[200 of at least 201 matching lines in at least 2 files;"),
        "{said}"
    );
    let wide = bench
        .done("grep", json!({"pattern": "needle", "path": "wide"}))
        .await;
    assert!(
        wide.len() < 400 && wide.ends_with("[… 3796 more characters] [… 910 more bytes]\n"),
        "{wide}"
    );
}

#[tokio::test]
async fn grep_says_what_it_could_not_search() {
    let bench = Bench::new(External::Deny);
    bench.put("endless", "x".repeat((32 << 20) + 1));
    let why = "a line of it is longer than 32 MB";
    let one = json!({"pattern": "needle", "path": "endless"});
    let said = bench.refused("grep", one).await;
    assert!(said.contains(why), "{said}");
    let said = bench.done("grep", json!({"pattern": "needle"})).await;
    assert!(said.starts_with("No line matches needle."), "{said}");
    assert!(said.ends_with("[1 file was not searched to the end: it has a line of more than 32 MB, or cannot be read]\n"), "{said}");
}
