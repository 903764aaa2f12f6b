//! What one turn leaves beside honest files: strange ones, secrets, letters, other people's repositories, programs that must not run.

use super::recording::warned;
use super::yard::{Yard, git_in};
use ralphd::model::mask::Mask;
use ralphd::workspace::git::Ground;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

#[tokio::test]
async fn strange_files_are_kept_as_they_are() {
    for plain in [false, true] {
        let yard = if plain {
            Yard::plain()
        } else {
            Yard::repository()
        };
        yard.write("swap", "a file\n");
        yard.write("other/x", "in a directory\n");
        yard.write("linked/x", "in a directory\n");
        let start = yard.record(0, None).await;
        let strange = OsStr::from_bytes(b"not\xffutf\n8 \"q\".txt");
        std::fs::write(yard.workspace.join(strange), "x").unwrap();
        symlink("nowhere/at all", yard.path("link")).unwrap();
        yard.write("run.sh", "#!/bin/sh\n");
        std::fs::set_permissions(yard.path("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
        yard.remove("swap");
        yard.write("swap/now/a", "directory\n");
        std::fs::remove_dir_all(yard.path("other")).unwrap();
        yard.write("other", "now a file\n");
        std::fs::remove_dir_all(yard.path("linked")).unwrap();
        symlink("swap", yard.path("linked")).unwrap();
        let first = yard.record(1, Some(&start)).await;
        let commit = first.commit.as_deref().unwrap();
        let listed = yard.points(&["ls-tree", "-r", commit]);
        let mut modes: Vec<(String, String)> = listed
            .lines()
            .map(|line| {
                let (facts, path) = line.split_once('\t').unwrap();
                (path.to_owned(), facts[..6].to_owned())
            })
            .filter(|(path, _)| path != "a.txt")
            .collect();
        modes.sort();
        let expected = [
            (r#""not\377utf\n8 \"q\".txt""#, "100644"),
            ("link", "120000"),
            ("linked", "120000"),
            ("other", "100644"),
            ("run.sh", "100755"),
            ("swap/now/a", "100644"),
        ];
        let expected = expected.map(|(path, mode)| (path.to_owned(), mode.to_owned()));
        assert_eq!(modes, expected);
        let second = yard.record(2, Some(&first)).await;
        assert!(!second.changed);
    }
}

#[tokio::test]
async fn secrets_stay_out() {
    let mut yard = Yard::repository();
    yard.mask = Mask::new(["sk-0123456789".to_owned()]);
    yard.write(".env.example", "KEY=\n");
    yard.write("tracked.pem", "was there before\n");
    yard.git(&["add", "."]);
    yard.git(&["commit", "-qm", "More"]);
    let start = yard.record(0, None).await;
    yard.write(".env", "KEY=x\n");
    yard.write("deep/id_rsa", "key\n");
    yard.write(".npmrc", "//registry.npmjs.org/:_authToken=abc\n");
    yard.write("web/.npmrc", "save-exact=true\n");
    yard.write("staged.key", "key\n");
    yard.git(&["add", "-f", "staged.key"]);
    yard.write("tracked.pem", "changed\n");
    yard.write("a.txt", "key = sk-0123456789\n");
    yard.write(
        "big.log",
        [vec![b'x'; (1 << 20) - 5], b"sk-0123456789".to_vec()].concat(),
    );
    symlink("/sk-0123456789", yard.path("link")).unwrap();
    yard.write("good.txt", "good\n");
    let first = yard.record(1, Some(&start)).await;
    let expected = [
        ".env.example",
        "a.txt",
        "good.txt",
        "tracked.pem",
        "web/.npmrc",
    ];
    assert_eq!(yard.files_of(&first), expected);
    assert_eq!(yard.git(&["show", "HEAD:a.txt"]), "one");
    assert_eq!(yard.git(&["show", "HEAD:tracked.pem"]), "changed");
    for name in [
        ".env",
        "deep/id_rsa",
        ".npmrc",
        "staged.key",
        "a.txt",
        "big.log",
        "link",
    ] {
        assert!(
            warned(&first, &format!("{name} (")),
            "{name}: {:?}",
            first.warnings
        );
        assert!(yard.path(name).is_symlink() || yard.path(name).exists());
    }
    let second = yard.record(2, Some(&first)).await;
    assert!(!second.changed);
    yard.git(&["add", "-f", ".env"]);
    yard.git(&["commit", "-qm", "Slip"]);
    let third = yard.record(3, Some(&second)).await;
    assert!(
        warned(&third, "own commit may hold a secret: .env"),
        "{:?}",
        third.warnings
    );
}

#[tokio::test]
async fn letters_stay_out_also_where_their_directory_is_the_repositorys_own() {
    let yard = Yard::repository();
    let start = yard.record(0, None).await;
    yard.write("state/handoff.json", "{}");
    yard.write("state/notes.md", "notes\n");
    yard.git(&["add", "-f", "state"]);
    let first = yard.record(1, Some(&start)).await;
    assert!(!first.changed, "{first:?}");
    yard.write("state/own.txt", "theirs\n");
    yard.git(&["add", "-f", "state/own.txt"]);
    yard.git(&["commit", "-qm", "A state of its own"]);
    let second = yard.record(2, Some(&first)).await;
    assert_eq!(
        yard.files_of(&second),
        ["a.txt", "state/notes.md", "state/own.txt"]
    );
}

#[tokio::test]
async fn repositories_inside_are_named_not_swallowed() {
    let yard = Yard::repository();
    let start = yard.record(0, None).await;
    for name in ["inner", "hollow"] {
        std::fs::create_dir_all(yard.path(name)).unwrap();
        git_in(&yard.path(name), &["init", "-q"]);
    }
    yard.write("inner/x", "x\n");
    git_in(&yard.path("inner"), &["add", "."]);
    git_in(&yard.path("inner"), &["commit", "-qm", "Inside"]);
    let first = yard.record(1, Some(&start)).await;
    assert!(!first.changed);
    assert!(
        warned(&first, "inner/ (a repository of its own)"),
        "{first:?}"
    );
    // One that the agent added is a name only, and is said to be.
    yard.git(&["add", "inner"]);
    let second = yard.record(2, Some(&first)).await;
    assert!(second.changed);
    assert!(warned(&second, "repositories inside: inner"), "{second:?}");
}

#[tokio::test]
async fn a_plain_directory_keeps_the_files_of_repositories_inside() {
    let yard = Yard::plain();
    let start = yard.record(0, None).await;
    for name in ["inner", "inner/deeper"] {
        std::fs::create_dir_all(yard.path(name)).unwrap();
        git_in(&yard.path(name), &["init", "-q"]);
    }
    yard.write("inner/x", "x\n");
    yard.write("inner/y/z", "z\n");
    yard.write("inner/.gitignore", "ignored\n");
    yard.write("inner/ignored", "z\n");
    yard.write("inner/deeper/w", "w\n");
    let first = yard.record(1, Some(&start)).await;
    let expected = ["inner/.gitignore", "inner/deeper/w", "inner/x", "inner/y/z"];
    let mut files = yard.files_of(&first);
    files.retain(|file| file != "inner/ignored");
    assert_eq!(files, expected);
    assert!(warned(&first, "inner/"), "{first:?}");
    let second = yard.record(2, Some(&first)).await;
    assert!(!second.changed && second.warnings.is_empty());
}

#[tokio::test]
async fn large_and_binary_files_are_warned_about() {
    let yard = Yard::repository();
    let start = yard.record(0, None).await;
    let mut noise = 1u32;
    let mut next = || {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        noise.to_be_bytes()[0]
    };
    let bytes: Vec<u8> = (0..10_000_000).map(|_| next()).collect();
    yard.write("big.bin", bytes);
    yard.write("small.bin", [0, 1, 2]);
    let first = yard.record(1, Some(&start)).await;
    assert!(
        warned(&first, "large files in the commit: big.bin (10 MB)"),
        "{first:?}"
    );
    assert!(
        warned(&first, "binary files in the commit: small.bin"),
        "{first:?}"
    );
    assert_eq!(
        first.facts.lines()[0],
        "2 files changed, +0 -0: big.bin (binary), small.bin (binary)"
    );
}

#[tokio::test]
async fn nothing_that_a_repository_names_is_run() {
    let yard = Yard::repository();
    let mark = yard.place().join("ran");
    let evil = format!("touch {}; cat", mark.display());
    // Git would look into it by starting itself there.
    std::fs::create_dir_all(yard.path("inner")).unwrap();
    let inner = yard.path("inner");
    git_in(&inner, &["init", "-q"]);
    git_in(&inner, &["commit", "-qm", "x", "--allow-empty"]);
    yard.git(&["-c", "advice.addEmbeddedRepo=false", "add", "inner"]);
    yard.git(&["commit", "-qm", "Inner"]);
    let start = yard.record(0, None).await;
    yard.write(".gitattributes", "* filter=evil diff=evil\n");
    for setting in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "core.fsmonitor",
        "core.pager",
        "hook.x.command",
    ] {
        yard.git(&["config", setting, &evil]);
    }
    yard.git(&["config", "filter.evil.required", "true"]);
    yard.git(&["config", "hook.x.event", "post-index-change"]);
    for hook in [
        "post-index-change",
        "reference-transaction",
        "pre-commit",
        "post-commit",
        "post-checkout",
    ] {
        let hook = format!(".git/hooks/{hook}");
        yard.write(&hook, format!("#!/bin/sh\n{evil}\n"));
        std::fs::set_permissions(yard.path(&hook), PermissionsExt::from_mode(0o755)).unwrap();
    }
    yard.write("inner/x", "dirty\n");
    git_in(&inner, &["config", "core.fsmonitor", &evil]);
    git_in(&inner, &["config", "filter.evil.clean", &evil]);
    let _ = std::fs::remove_file(&mark);
    yard.write("a.txt", "two\n");
    let first = yard.record(1, Some(&start)).await;
    assert!(first.changed);
    yard.write("a.txt", "three\n");
    let second = yard.record(2, Some(&first)).await;
    yard.restore(&first, 1).await;
    yard.restore(&second, 2).await;
    assert_eq!(yard.read("a.txt").as_deref(), Some("three\n"));
    assert!(!mark.exists(), "a program of the repository was run");
    let _ = std::process::Command::new("git")
        .args(["add", "-A"])
        .current_dir(&yard.workspace)
        .output()
        .unwrap();
    assert!(mark.exists(), "the trap itself does not work");
}

#[tokio::test]
async fn links_in_gits_own_directory_lead_nowhere() {
    let yard = Yard::repository();
    let elsewhere = yard.place().join("elsewhere");
    yard.remove(".git/index");
    symlink(&elsewhere, yard.path(".git/index")).unwrap();
    let point = yard.record(0, None).await;
    assert!(point.commit.is_some());
    assert!(matches!(yard.ground().await, Ground::Shadow(_)));
    assert!(!elsewhere.exists());
}
