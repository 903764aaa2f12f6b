//! Brings the branch of a task into the working branch: computed in memory, then a commit with both parents, then the branch moves. With the
//! same date a redo after a crash makes the same commit. It must not call anything merged that is not: that is asked of the history.

use super::follow::{self, Entry, Step, Stepped};
use super::names::{branch_ref, checked_ref, listed, shown};
use super::removal::named;
use super::repository::Repository;
use super::tool::GitFailed;
use super::turn;
use anyhow::{Context, Result, bail};
use tokio::sync::OnceCell;

/// The first that merges in memory.
const OLDEST_GIT: (u32, u32) = (2, 38);
/// How often a merge is tried when somebody else moves the branch meanwhile.
const MAX_TRIES: u32 = 20;

/// What became of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// It was before.
    Already,
    Clean {
        commit: String,
    },
    Conflict {
        paths: Vec<String>,
    },
    /// Nothing was done: the main tree has changes in these that are not committed.
    Blocked {
        paths: Vec<String>,
    },
}

/// Merges a branch into the one that the main tree is on.
pub async fn merge(main: &Repository, branch: &str, message: &str, at_ms: i64) -> Result<Merged> {
    let reference = checked_ref(branch)?;
    let _turn = turn::on(main.common_dir()).await;
    let main = main.again().await?;
    let blocking = follow::settle(&main).await?;
    if !blocking.is_empty() {
        return Ok(Merged::Blocked { paths: blocking });
    }
    let theirs = existing(&main, &reference).await?;
    join(&main, &theirs, None, message, at_ms).await
}

/// Merges a commit into the working branch. Where that still is at `direct`, of which the commit is a merge already, it only moves there.
pub(super) async fn join(
    main: &Repository,
    theirs: &str,
    direct: Option<&str>,
    message: &str,
    at_ms: i64,
) -> Result<Merged> {
    for _ in 0..MAX_TRIES {
        let working = working_branch(main).await?;
        let ours = existing(main, &branch_ref(&working)).await?;
        if contains(main, theirs, &ours).await? {
            return Ok(Merged::Already);
        }
        let commit = if direct == Some(&ours) {
            theirs.to_owned()
        } else {
            let sum = sum(main, &ours, theirs).await?;
            if !sum.conflicts.is_empty() || !sum.clean {
                return Ok(Merged::Conflict { paths: sum.names() });
            }
            seal(main, &sum.tree, &[&ours, theirs], message, at_ms).await?
        };
        let step = Step {
            branch: &working,
            old: &ours,
            new: &commit,
            why: "ralphd: merge",
        };
        match follow::step(main, &step).await? {
            Stepped::Done => return Ok(Merged::Clean { commit }),
            Stepped::Blocked(paths) => return Ok(Merged::Blocked { paths }),
            Stepped::Outrun => {}
        }
    }
    bail!("the working branch moves faster than anything can be merged into it");
}

/// The branch that everything is merged into.
pub(super) async fn working_branch(main: &Repository) -> Result<String> {
    let branch = main.branch().await?;
    branch.context("the main tree is on no branch, so there is none to merge into")
}

pub(super) async fn existing(main: &Repository, reference: &str) -> Result<String> {
    let commit = main.commit_of(reference).await?;
    commit.with_context(|| {
        format!(
            "there is no {}",
            reference.trim_start_matches("refs/heads/")
        )
    })
}

/// Whether `inner` is in the history of `outer`.
pub(super) async fn contains(main: &Repository, inner: &str, outer: &str) -> Result<bool> {
    main.call(["merge-base", "--is-ancestor", inner, outer])
        .holds()
        .await
}

/// Whether all of a branch is in another one.
pub async fn is_merged(main: &Repository, branch: &str, into: &str) -> Result<bool> {
    let inner = existing(main, &checked_ref(branch)?).await?;
    let outer = existing(main, &checked_ref(into)?).await?;
    contains(main, &inner, &outer).await
}

/// The branches whose names begin so and that are not all in `into`, by name.
pub async fn unmerged(main: &Repository, prefix: &str, into: &str) -> Result<Vec<String>> {
    let outer = existing(main, &checked_ref(into)?).await?;
    let not_merged = format!("--no-merged={outer}");
    let words = [
        "for-each-ref",
        "--format=%(refname:lstrip=2)",
        &not_merged,
        "refs/heads",
    ];
    let said = main.call(words).text().await?;
    let names = said
        .lines()
        .filter(|name| !name.is_empty() && name.starts_with(prefix));
    Ok(names.map(str::to_owned).collect())
}

/// Where a task starts that needs the work of several branches: their merge, one after the other; or why there is none.
pub async fn combined_start(
    main: &Repository,
    branches: &[String],
    at_ms: i64,
) -> Result<Result<String, String>> {
    let main = main.again().await?;
    let mut start: Option<String> = None;
    let mut taken: Vec<&str> = Vec::new();
    for branch in branches {
        let theirs = existing(&main, &checked_ref(branch)?).await?;
        start = Some(match start {
            None => theirs,
            Some(start) if contains(&main, &theirs, &start).await? => start,
            Some(start) if contains(&main, &start, &theirs).await? => theirs,
            Some(start) => {
                let sum = sum(&main, &start, &theirs).await?;
                if !sum.clean {
                    let (before, paths) = (taken.join(" and "), named(&sum.names()));
                    return Ok(Err(format!(
                        "{branch} conflicts with {before} in {paths}; put a merge task before this one"
                    )));
                }
                let message = format!("Combine {} and {branch}\n", taken.join(", "));
                seal(&main, &sum.tree, &[&start, &theirs], &message, at_ms).await?
            }
        });
        taken.push(branch);
    }
    match start {
        Some(start) => Ok(Ok(start)),
        None => existing(&main, "HEAD").await.map(Ok),
    }
}

/// Two commits merged in memory.
pub(super) struct Sum {
    pub clean: bool,
    /// Where there are conflicts: with the files as they are shown to whoever resolves them.
    pub tree: String,
    pub conflicts: Vec<Stage>,
    /// Paths that are in one conflict together.
    pub groups: Vec<Vec<Vec<u8>>>,
}

/// One side of a path in conflict.
pub(super) struct Stage {
    /// 1 is what both came from, 2 ours, 3 theirs.
    pub number: u8,
    pub entry: Entry,
}

impl Sum {
    /// The paths in conflict.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .conflicts
            .iter()
            .map(|stage| shown(&stage.entry.path))
            .collect();
        names.dedup();
        names
    }

    /// Reads what `git merge-tree -z` says.
    pub fn read(clean: bool, said: &[u8]) -> Result<Self> {
        let mut parts = said.split(|byte| *byte == 0);
        let tree = shown(parts.next().unwrap_or_default());
        let mut conflicts = Vec::new();
        for line in parts.by_ref().take_while(|line| !line.is_empty()) {
            conflicts.push(stage(line).context("git says a conflict in words not known")?);
        }
        let mut groups = Vec::new();
        while let Some(count) = parts.next().filter(|count| !count.is_empty()) {
            let count: usize = shown(count)
                .parse()
                .context("git says a conflict in words not known")?;
            let paths: Vec<Vec<u8>> = parts.by_ref().take(count).map(<[u8]>::to_vec).collect();
            let kind = parts.next().unwrap_or_default();
            parts.next();
            if kind.starts_with(b"CONFLICT") {
                groups.push(paths);
            }
        }
        Ok(Self {
            clean,
            tree,
            conflicts,
            groups,
        })
    }
}

/// `mode object stage<TAB>path`
fn stage(line: &[u8]) -> Option<Stage> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let facts = shown(&line[..tab]);
    let mut facts = facts.split(' ');
    let (mode, object, number) = (facts.next()?, facts.next()?, facts.next()?.parse().ok()?);
    Some(Stage {
        number,
        entry: Entry {
            mode: mode.to_owned(),
            object: object.to_owned(),
            path: line[tab + 1..].to_vec(),
        },
    })
}

/// Merges two commits in memory.
pub(super) async fn sum(main: &Repository, ours: &str, theirs: &str) -> Result<Sum> {
    let (clean, said) = sum_in_words(main, ours, theirs).await?;
    Sum::read(clean, &said)
}

/// The same, as git says it. Conflict markers bear the names given.
pub(super) async fn sum_in_words(
    main: &Repository,
    ours: &str,
    theirs: &str,
) -> Result<(bool, Vec<u8>)> {
    check_version(main).await?;
    let words = [
        "merge-tree",
        "--write-tree",
        "-z",
        "--messages",
        ours,
        theirs,
    ];
    let (code, said) = main.call(words).ends_with(&[0, 1]).await?;
    Ok((code == 0, said))
}

async fn check_version(main: &Repository) -> Result<()> {
    static VERSION: OnceCell<String> = OnceCell::const_new();
    let ask = || async { main.call(["version"]).text().await };
    let said = VERSION.get_or_try_init(ask).await?;
    match version(said) {
        Some(found) if found >= OLDEST_GIT => Ok(()),
        _ => bail!(GitFailed {
            verb: "merge-tree".to_owned(),
            exit: None,
            complaint: format!(
                "merging needs git {}.{} or later; here is {said:?}",
                OLDEST_GIT.0, OLDEST_GIT.1
            ),
        }),
    }
}

fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// A commit of a tree, dated as told: the same each time.
pub(super) async fn seal(
    main: &Repository,
    tree: &str,
    parents: &[&str],
    message: &str,
    at_ms: i64,
) -> Result<String> {
    let mut words = vec!["commit-tree", tree];
    for parent in parents {
        words.extend(["-p", parent]);
    }
    let date = format!("@{} +0000", at_ms.div_euclid(1000));
    let author = &main.tool().author;
    main.call(words)
        .variable("GIT_AUTHOR_NAME", &author.name)
        .variable("GIT_AUTHOR_EMAIL", &author.email)
        .variable("GIT_AUTHOR_DATE", &date)
        .variable("GIT_COMMITTER_NAME", &author.name)
        .variable("GIT_COMMITTER_EMAIL", &author.email)
        .variable("GIT_COMMITTER_DATE", &date)
        .input(message)
        .text()
        .await
}

/// The files of a commit or tree at these paths.
pub(super) async fn entries_at(
    main: &Repository,
    tree: &str,
    paths: &[Vec<u8>],
) -> Result<Vec<Entry>> {
    let said = main
        .call(["ls-tree", "-r", "-z", "--full-tree", tree])
        .bytes()
        .await?;
    let entries = listed(&said).filter_map(|line| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let facts = shown(&line[..tab]);
        let mut facts = facts.split(' ');
        let (mode, object) = (facts.next()?, facts.nth(1)?);
        Some(Entry {
            mode: mode.to_owned(),
            object: object.to_owned(),
            path: line[tab + 1..].to_vec(),
        })
    });
    Ok(entries
        .filter(|entry| paths.contains(&entry.path))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (said, expected) in [
            ("git version 2.47.3", Some((2, 47))),
            ("git version 2.39.5 (Apple Git-154)", Some((2, 39))),
            ("git version 3.0.rc1", Some((3, 0))),
            ("busybox", None),
        ] {
            assert_eq!(version(said), expected, "{said}");
        }
    }

    #[test]
    fn what_git_says_of_conflicts_is_read() {
        let said = b"tree\x00100644 aa 1\td\x00100644 bb 2\td\x00160000 cc 3\ts p\x00\x001\0f\0Auto-merging\0Auto-merging f\n\x002\0d\0s p\0CONFLICT (modify/delete)\0words\n\0";
        let sum = Sum::read(false, said).unwrap();
        assert_eq!(
            (sum.tree.as_str(), sum.names()),
            ("tree", vec!["d".to_owned(), "s p".to_owned()])
        );
        let stages: Vec<(u8, &str)> = sum
            .conflicts
            .iter()
            .map(|stage| (stage.number, stage.entry.object.as_str()))
            .collect();
        assert_eq!(stages, [(1, "aa"), (2, "bb"), (3, "cc")]);
        assert_eq!(sum.groups, [vec![b"d".to_vec(), b"s p".to_vec()]]);
        assert!(Sum::read(true, b"tree\0").unwrap().conflicts.is_empty());
    }
}
