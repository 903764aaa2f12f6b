//! What one turn did becomes a commit with its facts, on a branch or beside it.

use super::yard::{SESSION, Yard, git_in};
use ralphd::workspace::git::{Ground, Recorded, Repository, record};

pub fn warned(point: &Recorded, word: &str) -> bool {
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
