//! read, write, edit, ask_human.

use super::Bench;
use ralphd::agent::tool::External;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

#[tokio::test]
async fn read_pages_and_says_what_is_left() {
    let bench = Bench::new(External::Deny);
    let lines: String = (1..=5000)
        .map(|number| format!("line {number}\n"))
        .collect();
    bench.put("long.txt", &lines);
    let first = bench.done("read", json!({"path": "long.txt"})).await;
    assert!(first.starts_with("     1\tline 1\n"));
    assert!(first.ends_with("  2000\tline 2000\n[3000 more lines; go on with offset 2001]\n"));
    let middle = json!({"path": "long.txt", "offset": "4999", "limit": null});
    assert_eq!(
        bench.done("read", middle).await,
        "  4999\tline 4999\n  5000\tline 5000\n"
    );
    let absolute = bench.path("long.txt").display().to_string();
    let one = json!({"path": absolute, "offset": 7, "limit": 1});
    assert_eq!(
        bench.done("read", one).await,
        "     7\tline 7\n[4993 more lines; go on with offset 8]\n"
    );
    let behind = bench
        .refused("read", json!({"path": "long.txt", "offset": 9000}))
        .await;
    assert_eq!(
        behind,
        "long.txt has 5000 lines only; offset 9000 is behind its end."
    );
}

#[tokio::test]
async fn read_stands_any_content() {
    let bench = Bench::new(External::Deny);
    bench.put("huge-line", vec![b'x'; 10 << 20]);
    let said = bench.done("read", json!({"path": "huge-line"})).await;
    assert!(said.len() < 3_000, "{}", said.len());
    assert!(said.contains("more bytes]"));
    bench.put("wide", format!("{}\n", "y".repeat(900)).repeat(10_000));
    let said = bench.done("read", json!({"path": "wide"})).await;
    assert!(said.len() < 60_000, "{}", said.len());
    assert!(said.contains("more lines; go on with offset"));
    bench.put("latin", b"gr\xfc\xdfe\r\nzwei");
    let said = bench.done("read", json!({"path": "latin"})).await;
    assert_eq!(said, "     1\tgr\u{fffd}\u{fffd}e\n     2\tzwei\n");
    bench.put("empty", "");
    assert_eq!(
        bench.done("read", json!({"path": "empty"})).await,
        "empty is empty."
    );
    bench.put("picture.png", b"\x89PNG\r\n\0\0\0");
    let binary = bench.refused("read", json!({"path": "picture.png"})).await;
    assert!(binary.contains("binary file of 9 bytes"), "{binary}");
    bench.put("src/main.rs", "x");
    let directory = bench.refused("read", json!({"path": "src"})).await;
    assert!(directory.contains("is a directory. List it with glob"));
    let missing = bench.refused("read", json!({"path": "src/mian.rs"})).await;
    assert_eq!(
        missing,
        "There is no src/mian.rs. Did you mean src/main.rs?"
    );
}

#[tokio::test]
async fn write_makes_and_replaces_whole_files() {
    let bench = Bench::new(External::Deny);
    let new = json!({"path": "a/b/c.txt", "content": "one\ntwo\n"});
    assert_eq!(
        bench.done("write", new).await,
        "Wrote a/b/c.txt: 2 lines, 8 bytes."
    );
    let script = bench.path("run.sh");
    bench.put("run.sh", "old");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o751)).unwrap();
    std::os::unix::fs::symlink("run.sh", bench.path("alias")).unwrap();
    let by_link = json!({"path": "alias", "content": "new"});
    assert_eq!(
        bench.done("write", by_link).await,
        "Replaced alias: 1 line, 3 bytes."
    );
    assert_eq!(bench.text("run.sh"), "new");
    assert!(bench.path("alias").is_symlink());
    let mode = std::fs::metadata(&script).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o751);
    let handoff = json!({"path": "state/handoff.json", "content": "{}"});
    bench.done("write", handoff).await;
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o444)).unwrap();
    let kept = bench
        .refused("write", json!({"path": "run.sh", "content": "x"}))
        .await;
    assert!(kept.contains("read-only (mode 0444)"), "{kept}");
    let large = json!({"path": "large", "content": "x".repeat((5 << 20) + 1)});
    assert!(
        bench
            .refused("write", large)
            .await
            .contains("limit is 5 MB")
    );
    let names = std::fs::read_dir(bench.path("a/b")).unwrap().count();
    assert_eq!(names, 1, "no temporary file is left");
}

#[tokio::test]
async fn git_is_not_written_by_hand() {
    let bench = Bench::new(External::Deny);
    bench.put(".git/config", "[core]\n");
    std::os::unix::fs::symlink(".git", bench.path("alias")).unwrap();
    std::os::unix::fs::symlink(".git/config", bench.path("settings")).unwrap();
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        "alias/hooks/post-checkout",
        "alias/config",
        "settings",
        "x/../.git/config",
        "sub/.git/config",
        ".GIT/config",
    ] {
        std::fs::create_dir_all(bench.path("x")).unwrap();
        let words = bench
            .refused("write", json!({"path": path, "content": "x"}))
            .await;
        assert!(words.contains("git's own files"), "{path}: {words}");
    }
    let edit = json!({"path": "settings", "old_string": "[core]", "new_string": "x"});
    assert!(bench.refused("edit", edit).await.contains("git's own"));
    assert_eq!(bench.text(".git/config"), "[core]\n");
    bench.put(".github/workflows/ci.yml", "x");
    let near = json!({"path": ".github/workflows/ci.yml", "content": "y"});
    bench.done("write", near).await;
}

#[tokio::test]
async fn edit_changes_what_is_named_and_teaches_otherwise() {
    let bench = Bench::new(External::Deny);
    let before = "fn main() {\n\tlet count = 1;\n\tprint(count);\n\tprint(count);\n}\n";
    bench.put("m.rs", before);
    for (old, words) in [
        ("print(count)", "occurs 2 times in m.rs, at lines 3, 4."),
        ("  let count = 1;", "differs from it only in white space"),
        ("let count = 2;", "line 2:\n\tlet count = 1;"),
        ("     2\t\tlet count = 1;", "without the line numbers"),
        ("zzz qqq", "nor anything like it"),
        ("", "old_string is empty"),
    ] {
        let call = json!({"path": "m.rs", "old_string": old, "new_string": "x"});
        let said = bench.refused("edit", call).await;
        assert!(said.contains(words), "{old}: {said}");
    }
    let same = json!({"path": "m.rs", "old_string": "x", "new_string": "x"});
    assert!(bench.refused("edit", same).await.contains("are the same"));
    assert_eq!(
        bench.text("m.rs"),
        before,
        "nothing was changed by all this"
    );
    let all = json!({"path": "m.rs", "old_string": "print(count)", "new_string": "show(count)", "replace_all": "true"});
    assert_eq!(
        bench.done("edit", all).await,
        "Changed m.rs in 2 places, at lines 3, 4."
    );
    let one =
        json!({"path": "m.rs", "old_string": "let count = 1;", "new_string": "let count = 2;"});
    assert_eq!(bench.done("edit", one).await, "Changed m.rs at line 2.");
    assert_eq!(
        bench.text("m.rs"),
        before.replace("print", "show").replace("= 1", "= 2")
    );
    bench.put("dos.txt", "a\r\nb\r\nc\r\n");
    let lines = json!({"path": "dos.txt", "old_string": "a\nb", "new_string": "x\ny\nz"});
    bench.done("edit", lines).await;
    assert_eq!(bench.text("dos.txt"), "x\r\ny\r\nz\r\nc\r\n");
    bench.put("large", "x".repeat(6 << 20));
    let large = json!({"path": "large", "old_string": "a", "new_string": "b"});
    let said = bench.refused("edit", large).await;
    assert!(said.starts_with("large has 6291456 bytes;"), "{said}");
}

#[tokio::test]
async fn a_question_is_left_as_the_daemon_reads_it() {
    let bench = Bench::new(External::Deny);
    let asked = json!({"question": " Which? ", "options": ["a", "b"]});
    bench.done("ask_human", asked).await;
    assert_eq!(
        ralphd::workspace::letters::read_question(&bench.path("")),
        Some(json!({"question": "Which?", "options": ["a", "b"]}))
    );
    for (wrong, words) in [
        (json!({"question": " "}), "empty"),
        (json!({"question": "x".repeat(5000)}), "shorter"),
        (
            json!({"question": "x", "option": "y"}),
            "Did you mean \"options\"?",
        ),
        (json!({}), "needs the argument \"question\""),
    ] {
        let said = bench.refused("ask_human", wrong).await;
        assert!(said.contains(words), "{said}");
    }
}

#[tokio::test]
async fn outside_may_be_allowed_but_never_the_kernels_books() {
    let bench = Bench::new(External::Allow);
    let outside = bench.root().join("outside/x.txt").display().to_string();
    bench
        .done("write", json!({"path": outside, "content": "there"}))
        .await;
    let said = bench.done("read", json!({"path": outside})).await;
    assert!(said.contains("there"));
    let said = bench
        .done("read", json!({"path": "../outside/x.txt"}))
        .await;
    assert!(said.contains("there"));
    let said = bench
        .done("grep", json!({"pattern": "ther.", "path": "../outside"}))
        .await;
    assert!(said.contains("x.txt:1:there"), "{said}");
    let own = bench
        .refused("read", json!({"path": "/proc/self/environ"}))
        .await;
    assert!(own.contains("kernel's view"), "{own}");
    let said = bench
        .done("bash", json!({"command": "cat ../outside/x.txt"}))
        .await;
    assert!(said.starts_with("there"));
}
