//! Back to a point and forward again: nothing is lost on the way, and what git ignores stays where it is.

use super::yard::{SESSION, Yard, git_in};
use ralphd::workspace::git::{Form, Repository, check_out, diff};
use std::os::unix::fs::{PermissionsExt, symlink};

#[tokio::test]
async fn back_and_forward_any_number_of_times() {
    for plain in [false, true] {
        let yard = if plain {
            Yard::plain()
        } else {
            Yard::repository()
        };
        yard.write("a.txt", "one\n");
        yard.write(".gitignore", "ignored/\n");
        yard.write("ignored/x", "stays\n");
        yard.write("state/handoff.json", "stays");
        let start = yard.record(0, None).await;
        yard.write("a.txt", "two\n");
        yard.write("dir/late.txt", "late\n");
        symlink("a.txt", yard.path("link")).unwrap();
        let first = yard.record(1, Some(&start)).await;
        yard.remove("a.txt");
        yard.write("a.txt/now", "a directory\n");
        yard.remove("dir/late.txt");
        let second = yard.record(2, Some(&first)).await;
        for round in 0..3 {
            let restored = yard.restore(&start, round * 10).await;
            assert_eq!(restored.abandoned, None);
            assert_eq!(yard.read("a.txt").as_deref(), Some("one\n"));
            assert!(!yard.path("dir/late.txt").exists() && !yard.path("link").is_symlink());
            yard.restore(&first, round * 10 + 1).await;
            assert_eq!(yard.read("a.txt").as_deref(), Some("two\n"));
            assert_eq!(yard.read("dir/late.txt").as_deref(), Some("late\n"));
            yard.restore(&second, round * 10 + 2).await;
            assert_eq!(yard.read("a.txt/now").as_deref(), Some("a directory\n"));
            let same = yard.record(3, Some(&second)).await;
            assert!(!same.changed, "{same:?}");
        }
        assert_eq!(yard.read("ignored/x").as_deref(), Some("stays\n"));
        assert_eq!(yard.read("state/handoff.json").as_deref(), Some("stays"));
        yard.assert_nothing_lost();
    }
}

#[tokio::test]
async fn what_is_left_keeps_a_name() {
    let yard = Yard::repository();
    let start = yard.record(0, None).await;
    yard.write("a.txt", "committed by the agent\n");
    yard.git(&["commit", "-qam", "Own"]);
    let tip = yard.git(&["rev-parse", "HEAD"]);
    yard.git(&["checkout", "-qb", "elsewhere"]);
    yard.write("a.txt", "in no commit\n");
    yard.write("new.txt", "new\n");
    yard.write(".env", "SECRET=1\n");
    let restored = yard.restore(&start, 77).await;
    let name = format!("refs/ralphd/abandoned/{SESSION}/77");
    assert_eq!(restored.abandoned.as_deref(), Some(name.as_str()));
    assert_eq!(
        yard.git(&["show", &format!("{name}:a.txt")]),
        "in no commit"
    );
    assert_eq!(yard.git(&["show", &format!("{name}:new.txt")]), "new");
    assert_eq!(yard.git(&["rev-parse", &format!("{name}^")]), tip);
    assert_eq!(yard.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    assert_eq!(Some(yard.git(&["rev-parse", "main"])), start.commit);
    assert_eq!(yard.git(&["status", "--porcelain"]), "?? .env");
    assert_eq!(yard.read(".env").as_deref(), Some("SECRET=1\n"));
    assert!(!yard.path("new.txt").exists());
    yard.assert_nothing_lost();
    // The same again finds the same.
    assert_eq!(yard.restore(&start, 77).await.abandoned, None);
}

#[tokio::test]
async fn a_second_try_ends_right() {
    let yard = Yard::repository();
    let start = yard.record(0, None).await;
    for number in 0..20 {
        yard.write(&format!("file{number}"), format!("{number}\n"));
    }
    let first = yard.record(1, Some(&start)).await;
    let target = start.commit.as_deref().unwrap();
    for killed in ["in the tree", "before the branch", "before the index"] {
        yard.restore(&first, 1).await;
        match killed {
            "in the tree" => (0..9).for_each(|number| yard.remove(&format!("file{number}"))),
            "before the branch" => drop(yard.git(&["read-tree", "--reset", "-u", target])),
            _ => drop(yard.git(&["update-ref", "refs/heads/main", target])),
        }
        yard.restore(&start, 5).await;
        assert_eq!(yard.git(&["status", "--porcelain"]), "", "{killed}");
        assert_eq!(Some(yard.git(&["rev-parse", "main"])), start.commit);
        assert!((0..20).all(|number| !yard.path(&format!("file{number}")).exists()));
        yard.assert_nothing_lost();
    }
}

#[tokio::test]
async fn without_commits_the_dirty_tree_comes_back_dirty() {
    let mut yard = Yard::repository();
    yard.commits = false;
    yard.write("loose.txt", "loose\n");
    let start = yard.record(0, None).await;
    yard.write("loose.txt", "changed\n");
    yard.git(&["add", "."]);
    yard.git(&["commit", "-qm", "By the agent"]);
    let first = yard.record(1, Some(&start)).await;
    yard.restore(&start, 1).await;
    assert_eq!(yard.git(&["status", "--porcelain"]), "?? loose.txt");
    assert_eq!(yard.read("loose.txt").as_deref(), Some("loose\n"));
    assert_eq!(Some(yard.git(&["rev-parse", "HEAD"])), start.facts.head);
    yard.restore(&first, 2).await;
    assert_eq!(yard.git(&["status", "--porcelain"]), "");
    assert_eq!(yard.git(&["log", "-1", "--format=%s"]), "By the agent");
    yard.assert_nothing_lost();
}

#[tokio::test]
async fn ignored_files_in_the_way_are_kept_too() {
    let yard = Yard::repository();
    yard.write("out", "a file of the point\n");
    yard.write("log/x", "another\n");
    let start = yard.record(0, None).await;
    let start = {
        let point = yard.record(1, Some(&start)).await;
        yard.remove("out");
        yard.remove("log/x");
        yard.write(".gitignore", "out\nlog\n");
        yard.record(2, Some(&point)).await;
        point
    };
    yard.write("out/deep/ignored", "precious\n");
    std::fs::remove_dir(yard.path("log")).unwrap_or_default();
    yard.write("log", "precious too\n");
    let restored = yard.restore(&start, 9).await;
    assert_eq!(yard.read("out").as_deref(), Some("a file of the point\n"));
    assert_eq!(yard.read("log/x").as_deref(), Some("another\n"));
    let name = restored.abandoned.unwrap();
    assert_eq!(
        yard.git(&["show", &format!("{name}:out/deep/ignored")]),
        "precious"
    );
    assert_eq!(yard.git(&["show", &format!("{name}:log")]), "precious too");
}

#[tokio::test]
async fn an_unfinished_merge_is_left_behind_whole() {
    let yard = Yard::repository();
    let start = yard.record(0, None).await;
    yard.git(&["checkout", "-q", "--detach"]);
    yard.write("a.txt", "side\n");
    yard.git(&["commit", "-qam", "Side"]);
    let side = yard.git(&["rev-parse", "HEAD"]);
    yard.git(&["checkout", "-q", "main"]);
    yard.write("a.txt", "main\n");
    yard.git(&["commit", "-qam", "Main"]);
    let merging = std::process::Command::new("git")
        .args(["merge", "-q", &side])
        .current_dir(&yard.workspace)
        .output()
        .unwrap();
    assert!(!merging.status.success());
    yard.restore(&start, 3).await;
    assert!(!yard.path(".git/MERGE_HEAD").exists());
    assert_eq!(yard.git(&["status", "--porcelain"]), "");
    assert_eq!(yard.read("a.txt").as_deref(), Some("one\n"));
    yard.assert_nothing_lost();
}

#[tokio::test]
async fn points_are_compared_also_between_repositories() {
    let (one, other) = (Yard::repository(), Yard::plain());
    let start = one.record(0, None).await;
    one.write("b.txt", "b\n");
    one.git(&["config", "diff.external", "false"]);
    let first = one.record(1, Some(&start)).await;
    other.write("a.txt", "other\n");
    let theirs = other.record(0, None).await;
    let (here, there) = (one.ground().await, other.ground().await);
    let commit = |point: &ralphd::workspace::git::Recorded| point.commit.clone().unwrap();
    let (left, right) = (commit(&start), commit(&first));
    for (form, expected) in [
        (Form::Names, "A\tb.txt\n"),
        (
            Form::Stat,
            " b.txt | 1 +\n 1 file changed, 1 insertion(+)\n",
        ),
    ] {
        let said = diff((&here, &left), (&here, &right), form, false, 10_000).await;
        assert_eq!(String::from_utf8(said.unwrap()).unwrap(), expected);
    }
    let theirs = commit(&theirs);
    let said = diff(
        (&here, &right),
        (&there, &theirs),
        Form::Patch,
        false,
        10_000,
    );
    let said = String::from_utf8(said.await.unwrap()).unwrap();
    assert!(
        said.contains("-one\n+other\n") && said.contains("deleted file"),
        "{said}"
    );
    let said = diff(
        (&there, &theirs),
        (&here, &right),
        Form::Patch,
        true,
        10_000,
    );
    let said = String::from_utf8(said.await.unwrap()).unwrap();
    assert!(said.contains("\u{1b}[32m+"), "{said}");
    let cut = diff((&here, &right), (&there, &theirs), Form::Patch, false, 60);
    let cut = String::from_utf8(cut.await.unwrap()).unwrap();
    assert!(cut.contains("bytes left out"), "{cut}");
}

#[tokio::test]
async fn another_directory_starts_from_a_point() {
    for plain in [false, true] {
        let yard = if plain {
            Yard::plain()
        } else {
            Yard::repository()
        };
        yard.write("run.sh", "#!/bin/sh\n");
        std::fs::set_permissions(yard.path("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
        let start = yard.record(0, None).await;
        let first = yard.record(1, Some(&start)).await;
        yard.write("later.txt", "later\n");
        let second = yard.record(2, Some(&first)).await;
        // No branch holds it any more.
        yard.restore(&first, 1).await;
        let into = yard.place().join("fork");
        let commit = second.commit.as_deref().unwrap();
        check_out(&yard.ground().await, commit, &into, "agent/fork")
            .await
            .unwrap();
        assert!(into.join("later.txt").exists());
        let mode = std::fs::metadata(into.join("run.sh"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o111, 0o111);
        assert_eq!(into.join(".git").exists(), !plain);
        assert!(!yard.path("later.txt").exists());
        if !plain {
            assert_eq!(
                git_in(&into, &["symbolic-ref", "--short", "HEAD"]),
                "agent/fork"
            );
            assert_eq!(git_in(&into, &["rev-parse", "HEAD"]), commit);
            assert_eq!(git_in(&into, &["status", "--porcelain"]), "");
            assert_eq!(git_in(&into, &["remote"]), "");
            let opened = Repository::open(&yard.tool, &into).await.unwrap();
            assert!(opened.is_some());
        }
        let again = check_out(&yard.ground().await, commit, &into, "x").await;
        assert!(again.unwrap_err().to_string().contains("is not empty"));
    }
}
