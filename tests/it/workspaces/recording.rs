//! What one turn did becomes a commit with its facts; secrets, letters and other people's repositories stay out.

use super::yard::{SESSION, Yard, git_in};
use ralphd::model::mask::Mask;
use ralphd::workspace::git::{Ground, Recorded, Repository, record};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

fn warned(point: &Recorded, word: &str) -> bool {
    point.warnings.iter().any(|warning| warning.contains(word))
}

#[tokio::test]
async fn a_turn_becomes_a_commit_with_facts() {
    let yard = Yard::repository();
    let start = yard.record(0, None).await;
    assert_eq!(start.commit, Some(yard.git(&["rev-parse", "HEAD"])));
    assert!(!start.changed);
    yard.write("a.txt", "one\ntwo\n");
    yard.write("src/new file.rs", "fn main() {}\n");
    yard.write("state/handoff.json", "{}");
    let first = yard.record(1, Some(&start)).await;
    assert!(first.changed);
    assert_eq!(first.commit, Some(yard.git(&["rev-parse", "main"])));
    assert_eq!(yard.git(&["status", "--porcelain"]), "?? state/");
    let message = yard.git(&["log", "-1", "--format=%an <%ae> %ct%n%B"]);
    let expected = format!(
        "Night Shift <night@example.org> 1700000060\nIteration 1\n\nRalphd-Session: {SESSION}\nRalphd-Iteration: 1\nRalphd-Task: build"
    );
    assert_eq!(message, expected);
    let facts = &first.facts;
    assert_eq!(facts.branch.as_deref(), Some("main"));
    assert_eq!(facts.head, first.commit);
    let short = &first.commit.as_deref().unwrap()[..10];
    let lines = [
        "2 files changed, +2 -0: a.txt +1 -0, src/new file.rs +1 -0".to_owned(),
        format!("commits: {short} Iteration 1"),
    ];
    assert_eq!(facts.lines(), lines);
    let named = yard.git(&["rev-parse", &format!("refs/ralphd/{SESSION}/1")]);
    assert_eq!(Some(named), first.commit);
    let second = yard.record(2, Some(&first)).await;
    assert_eq!((second.changed, &second.commit), (false, &first.commit));
    assert!(second.facts.lines().is_empty() && second.warnings.is_empty());
}

#[tokio::test]
async fn without_commits_only_the_point_is_made() {
    let mut yard = Yard::repository();
    yard.commits = false;
    yard.write("staged.txt", "staged\n");
    yard.git(&["add", "staged.txt"]);
    yard.write("a.txt", "changed\n");
    yard.write("loose.txt", "loose\n");
    let start = yard.record(0, None).await;
    let before = yard.git(&["status", "--porcelain"]);
    assert_eq!(before, " M a.txt\nA  staged.txt\n?? loose.txt");
    assert_eq!(yard.files_of(&start), ["a.txt", "loose.txt", "staged.txt"]);
    let head = yard.git(&["rev-parse", "HEAD"]);
    assert_eq!(start.facts.head.as_deref(), Some(head.as_str()));
    let same = yard.record(1, Some(&start)).await;
    assert_eq!((same.changed, &same.commit), (false, &start.commit));
    yard.write("loose.txt", "loose\nends\n");
    let second = yard.record(2, Some(&same)).await;
    assert!(second.changed);
    assert_eq!(
        second.facts.lines(),
        ["1 file changed, +1 -0: loose.txt +1 -0"]
    );
    assert_eq!(yard.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(yard.git(&["status", "--porcelain"]), before);
    yard.assert_nothing_lost();
}

#[tokio::test]
async fn a_plain_directory_has_points_too() {
    let yard = Yard::plain();
    yard.write("a.txt", "one\r\ntwo\n");
    yard.write(".gitattributes", "* text eol=lf\n");
    yard.write("state/handoff.json", "{}");
    let start = yard.record(0, None).await;
    assert_eq!(yard.files_of(&start), [".gitattributes", "a.txt"]);
    assert!(!yard.path(".git").exists());
    let commit = start.commit.as_deref().unwrap();
    let kept = yard.points(&["cat-file", "-s", &format!("{commit}:a.txt")]);
    assert_eq!(kept, "9", "byte by byte, whatever the attributes say");
    for number in 1..4 {
        let same = yard.record(number, Some(&start)).await;
        assert_eq!((same.changed, &same.commit), (false, &start.commit));
    }
    yard.write("b/c.txt", "new\n");
    yard.remove("a.txt");
    let second = yard.record(4, Some(&start)).await;
    assert_eq!(yard.files_of(&second), [".gitattributes", "b/c.txt"]);
    assert_eq!(second.facts.lines().len(), 1, "{:?}", second.facts);
    assert_eq!(second.facts.commit_count, 0);
    // Another session on the same directory.
    let other = yard.moment(0, None);
    let other = ralphd::workspace::git::Moment {
        session: "other",
        ..other
    };
    let point = record(&yard.ground().await, &other).await.unwrap();
    assert_eq!(point.commit, second.commit);
    let named = yard.points(&["rev-parse", "refs/ralphd/other/0"]);
    assert_eq!(Some(named), point.commit);
    yard.assert_nothing_lost();
}

#[tokio::test]
async fn what_an_agent_commits_itself_counts() {
    let yard = Yard::repository();
    let start = yard.record(0, None).await;
    yard.write("b.txt", "b\n");
    yard.git(&["add", "b.txt"]);
    yard.git(&["commit", "-qm", "Add b"]);
    yard.write("c.txt", "c\n");
    let first = yard.record(1, Some(&start)).await;
    let subjects: Vec<&str> = first
        .facts
        .commits
        .iter()
        .map(|made| made.subject.as_str())
        .collect();
    assert_eq!(subjects, ["Iteration 1", "Add b"]);
    assert_eq!(first.facts.file_count, 2);
    // Only a commit, and a clean tree.
    yard.git(&["commit", "-qm", "Nothing", "--allow-empty"]);
    let second = yard.record(2, Some(&first)).await;
    assert!(second.changed);
    assert_eq!(second.facts.commits[0].subject, "Nothing");
    assert_eq!((second.facts.commit_count, second.facts.file_count), (1, 0));
    // It throws everything away; the points still hold it.
    yard.git(&["reset", "-q", "--hard", "HEAD~3"]);
    let third = yard.record(3, Some(&second)).await;
    assert!(third.changed);
    assert_eq!(third.commit, start.commit);
    yard.assert_nothing_lost();
    // It takes a commit back but keeps the files: they go onto the branch again.
    yard.write("d.txt", "d\n");
    let fourth = yard.record(4, Some(&third)).await;
    yard.git(&["reset", "-q", "--soft", "HEAD~1"]);
    let fifth = yard.record(5, Some(&fourth)).await;
    assert!(fifth.changed);
    assert_eq!(fifth.commit, Some(yard.git(&["rev-parse", "main"])));
    for point in [&start, &first, &second, &fourth] {
        let name = point.commit.as_deref().unwrap();
        assert!(!yard.git(&["for-each-ref", "--contains", name]).is_empty());
    }
}

#[tokio::test]
async fn a_second_try_makes_the_same_commit() {
    for plain in [false, true] {
        let yard = if plain {
            Yard::plain()
        } else {
            Yard::repository()
        };
        yard.write("a.txt", "one\n");
        let start = yard.record(0, None).await;
        let since = start.commit.as_deref();
        yard.write("a.txt", "two\n");
        yard.write("b.txt", "b\n");
        let done = yard.record(1, Some(&start)).await;
        // As if killed before each of its steps, and after the last.
        let head = if plain {
            "--no-deref"
        } else {
            "--create-reflog"
        };
        let name = format!("refs/ralphd/{SESSION}/1");
        for undone in ["nothing", "names", "index"] {
            if undone != "nothing" {
                yard.points(&["update-ref", "-d", &name]);
                yard.points(&["update-ref", head, "HEAD", since.unwrap()]);
            }
            if undone == "index" {
                match plain {
                    // Where git was not needed there is none.
                    true => drop(std::fs::remove_file(yard.shadow.join("index"))),
                    false => drop(yard.git(&["reset", "-q"])),
                }
            }
            let again = yard.record(1, Some(&start)).await;
            assert_eq!(again.commit, done.commit, "{undone}");
            assert_eq!(again.facts.files, done.facts.files, "{undone}");
            assert_eq!(again.facts.commits, done.facts.commits, "{undone}");
            assert!(again.changed);
            assert_eq!(Some(yard.points(&["rev-parse", &name])), done.commit);
            assert_eq!(Some(yard.points(&["rev-parse", "HEAD"])), done.commit);
        }
        yard.assert_nothing_lost();
    }
}

#[tokio::test]
async fn a_killed_git_leaves_no_lock_behind() {
    let yard = Yard::repository();
    let start = yard.record(0, None).await;
    yard.write("b.txt", "b\n");
    yard.write(".git/index.lock", "");
    yard.write(".git/HEAD.lock", "");
    let first = yard.record(1, Some(&start)).await;
    assert!(first.changed);
    assert!(!yard.path(".git/index.lock").exists());
}

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
async fn before_the_first_commit() {
    let yard = Yard::unborn();
    let start = yard.record(0, None).await;
    assert!(yard.files_of(&start).is_empty());
    assert_eq!(start.facts.head, None);
    let same = yard.record(1, Some(&start)).await;
    assert_eq!((same.changed, &same.commit), (false, &start.commit));
    yard.write("a.txt", "one\n");
    let second = yard.record(2, Some(&same)).await;
    assert!(second.changed);
    assert_eq!(second.commit, Some(yard.git(&["rev-parse", "main"])));
    assert_eq!(second.facts.file_count, 1);
    yard.assert_nothing_lost();
}

#[tokio::test]
async fn an_unfinished_merge_is_kept_beside_the_branch() {
    let yard = Yard::repository();
    yard.git(&["checkout", "-qb", "side"]);
    yard.write("a.txt", "side\n");
    yard.git(&["commit", "-qam", "Side"]);
    yard.git(&["checkout", "-q", "main"]);
    yard.write("a.txt", "main\n");
    yard.git(&["commit", "-qam", "Main"]);
    let start = yard.record(0, None).await;
    let head = yard.git(&["rev-parse", "HEAD"]);
    let merging = std::process::Command::new("git")
        .args(["merge", "-q", "side"])
        .current_dir(&yard.workspace)
        .output()
        .unwrap();
    assert!(!merging.status.success());
    let first = yard.record(1, Some(&start)).await;
    assert!(
        first.changed && warned(&first, "a merge is under way"),
        "{first:?}"
    );
    assert_eq!(yard.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(yard.git(&["status", "--porcelain"]), "UU a.txt");
    let commit = first.commit.as_deref().unwrap();
    let kept = yard.git(&["show", &format!("{commit}:a.txt")]);
    assert!(kept.contains("<<<<<<<"), "{kept}");
    let second = yard.record(2, Some(&first)).await;
    assert!(!second.changed);
    yard.write("a.txt", "both\n");
    yard.git(&["commit", "-qam", "Merged"]);
    let third = yard.record(3, Some(&second)).await;
    assert!(third.changed && third.warnings.is_empty(), "{third:?}");
    assert_eq!(third.commit, Some(yard.git(&["rev-parse", "HEAD"])));
    yard.assert_nothing_lost();
}

#[tokio::test]
async fn a_tree_on_no_branch_and_a_linked_tree() {
    let yard = Yard::repository();
    yard.git(&["checkout", "-q", "--detach"]);
    let start = yard.record(0, None).await;
    yard.write("a.txt", "two\n");
    let first = yard.record(1, Some(&start)).await;
    assert_eq!(first.commit, Some(yard.git(&["rev-parse", "HEAD"])));
    assert_ne!(first.commit, Some(yard.git(&["rev-parse", "main"])));
    assert_eq!(first.facts.branch, None);
    let tree = yard.place().join("tree");
    yard.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "task",
        tree.to_str().unwrap(),
    ]);
    std::fs::write(tree.join("a.txt"), "three\n").unwrap();
    let main = Repository::open(&yard.tool, &yard.workspace).await.unwrap();
    let git_dir = yard.path(".git/worktrees/tree");
    let linked = main.unwrap().linked(&git_dir, &tree).await.unwrap();
    let ground = Ground::Own(linked);
    let point = record(&ground, &yard.moment(5, first.commit.as_deref()))
        .await
        .unwrap();
    assert!(point.changed);
    assert_eq!(point.commit, Some(yard.git(&["rev-parse", "task"])));
    assert_eq!(first.commit, Some(yard.git(&["rev-parse", "HEAD"])));
    assert_eq!(git_in(&tree, &["status", "--porcelain"]), "");
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

#[tokio::test]
async fn what_cannot_be_kept_is_said() {
    let yard = Yard::repository();
    yard.write("locked.txt", "x\n");
    yard.git(&["add", "."]);
    yard.git(&["commit", "-qm", "More"]);
    let start = yard.record(0, None).await;
    // A pipe in a file's place, and an encoding that the content has not.
    yard.remove("locked.txt");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        yard.path("locked.txt"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    yard.write(".gitattributes", "*.utf16 working-tree-encoding=UTF-16\n");
    yard.write("odd.utf16", "xyz");
    let first = yard.record(1, Some(&start)).await;
    assert_eq!(
        yard.files_of(&first),
        [".gitattributes", "a.txt", "odd.utf16"]
    );
    // The agent makes its repository anew.
    std::fs::remove_dir_all(yard.path(".git")).unwrap();
    yard.git(&["init", "-q", "-b", "main"]);
    let second = yard.record(2, Some(&first)).await;
    assert!(
        second.changed && warned(&second, "not in this repository any more"),
        "{second:?}"
    );
    assert_eq!(
        yard.files_of(&second),
        [".gitattributes", "a.txt", "odd.utf16"]
    );
}
