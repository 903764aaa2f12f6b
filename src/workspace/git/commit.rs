//! One commit, by the plumbing: no hook, no signature, no second look at the tree. It must not move a name.

use super::repository::Repository;
use anyhow::Result;

/// The same tree, parents, time and words make the same commit.
pub async fn commit_tree(
    repository: &Repository,
    tree: &str,
    parents: &[&str],
    at_ms: i64,
    message: String,
) -> Result<String> {
    let mut words = vec!["commit-tree", "-F", "-"];
    for parent in parents {
        words.extend(["-p", parent]);
    }
    words.push(tree);
    let call = repository.call(words);
    let dated = call.dated(&repository.tool().author, at_ms);
    dated.input(message).text().await
}
