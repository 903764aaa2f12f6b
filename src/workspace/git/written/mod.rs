//! Points of a plain directory that are written without the git command, for iterations that come faster than programs start: blobs, trees,
//! a commit and its names, by git's published formats, in the very repository that git reads. Byte for byte the commit that git would
//! have made of it. It decides nothing: where anything wants a rule (`lying`), or the repository is not as we leave it (`repository`),
//! nothing is done, and `record` goes git's way.

mod changes;
mod lines;
mod lying;
mod names;
mod object;
mod repository;
mod tree;

#[cfg(test)]
mod tests;

use super::facts::{FileChange, files_between};
use super::record::{Moment, Recorded, message};
use super::references::point_name;
use super::repository::{DOT_GIT, Repository};
use super::{under_way, warnings};
use crate::model::git::Author;
use crate::model::mask::Mask;
use crate::workspace::fingerprint::{Memory, Sight};
use anyhow::{Context, Result};
use lying::{KnownContents, Lying, take_in};
use names::{Head, Naming, head};
use object::{Id, Kind, Object, Objects};
use std::path::{Path, PathBuf};
use tree::{Flat, fold, unfold};

/// What is remembered of a plain directory from one point to the next. It saves work and nothing else: without it, all is read again.
#[derive(Default)]
pub struct Recall {
    memory: Memory,
    /// The last look, until a point is made of it.
    sight: Option<Sight>,
    contents: KnownContents,
    newest: Option<Held>,
}

impl Recall {
    /// One number for all that lies there; equal numbers mean that nothing changed. A point is best made right after it.
    pub fn fingerprint(&mut self, workspace: &Path) -> u64 {
        let sight = self.memory.look(workspace);
        let mark = sight.mark;
        self.sight = Some(sight);
        mark
    }
}

/// A commit and all that it holds.
#[derive(Clone)]
struct Held {
    commit: Id,
    tree: Id,
    files: Flat,
}

/// A point that was written, or found to be there already.
struct Written {
    commit: Id,
    is_new: bool,
    /// Nothing where only git can count.
    files: Option<Vec<FileChange>>,
}

/// Makes a point of a plain directory; nothing where that is not simple, and then HEAD is where it was.
pub async fn record(
    repository: &Repository,
    moment: &Moment<'_>,
    recall: &mut Recall,
) -> Result<Option<Recorded>> {
    let Some(writing) = Writing::of(repository, moment) else {
        return Ok(None);
    };
    let mut taken = std::mem::take(recall);
    let work = move || {
        let written = writing.write(&mut taken);
        (written, taken)
    };
    let (written, taken) = tokio::task::spawn_blocking(work)
        .await
        .context("the writing of the point ended early")?;
    *recall = taken;
    let Some(written) = written? else {
        return Ok(None);
    };
    let commit = written.commit.to_string();
    let mut recorded = Recorded {
        changed: match moment.since {
            Some(since) => since != commit,
            None => written.is_new,
        },
        ..Recorded::default()
    };
    if let Some(since) = moment.since.filter(|since| *since != commit) {
        let files = match written.files {
            Some(files) => files,
            None => files_between(repository, since, &commit).await?,
        };
        recorded.facts.count_files(files.clone(), moment.mask);
        recorded.warnings = warnings::of_files(repository, files, moment, false).await?;
    }
    recorded.commit = Some(commit);
    Ok(Some(recorded))
}

/// All that the making of a point needs, so that it can go on in a thread of its own.
struct Writing {
    git_dir: PathBuf,
    work_tree: PathBuf,
    author: Author,
    mask: Mask,
    message: String,
    at_s: i64,
    number: i64,
    name: String,
    since: Option<String>,
}

impl Writing {
    fn of(repository: &Repository, moment: &Moment<'_>) -> Option<Self> {
        let tool = repository.tool();
        let at_s = moment.at_ms.div_euclid(1000);
        let is_simple = at_s > 0
            && repository::takes_author(&tool.author)
            && repository::takes_settings(tool)
            && under_way::what(repository, &[]).is_none();
        let name = point_name(moment.session, moment.number).ok()?;
        is_simple.then(|| Self {
            git_dir: repository.git_dir().to_owned(),
            work_tree: repository.work_tree().to_owned(),
            author: tool.author.clone(),
            mask: moment.mask.clone(),
            message: message(moment, true),
            at_s,
            number: moment.number,
            name,
            since: moment.since.map(str::to_owned),
        })
    }

    fn write(&self, recall: &mut Recall) -> Result<Option<Written>> {
        match self.look(recall) {
            None => Ok(None),
            Some(found) => self.keep(found, recall),
        }
    }

    /// What lies there and what it is compared with.
    fn look(&self, recall: &mut Recall) -> Option<Found> {
        let objects = Objects::of(&self.git_dir);
        // A repository in there, or the ruin of one, is not for us.
        let dot_git = std::fs::symlink_metadata(self.work_tree.join(DOT_GIT));
        if dot_git.is_ok() || !repository::is_as_we_leave_it(&self.git_dir) {
            return None;
        }
        let head = head(&self.git_dir)?;
        let newest = match head.commit {
            None => None,
            Some(commit) => Some(match recall.newest.take() {
                Some(held) if held.commit == commit => held,
                _ => held(&objects, commit)?,
            }),
        };
        let since = match &self.since {
            None => None,
            Some(since) => match (Id::parse(since)?, &newest) {
                (since, Some(newest)) if newest.commit == since => Some(newest.files.clone()),
                (since, _) => Some(held(&objects, since)?.files),
            },
        };
        let sight = recall.sight.take();
        let sight = sight.unwrap_or_else(|| recall.memory.look(&self.work_tree));
        let nothing = Flat::new();
        let before = newest.as_ref().map_or(&nothing, |newest| &newest.files);
        if repository::holds_letters(before) {
            return None;
        }
        let lying = take_in(
            &self.work_tree,
            &sight,
            before,
            &self.mask,
            &mut recall.contents,
        )?;
        Some(Found {
            objects,
            head,
            newest,
            since,
            lying,
        })
    }

    /// Contents, trees, the commit, its name, and HEAD at last: whoever is killed between two of them leaves a whole repository.
    fn keep(&self, found: Found, recall: &mut Recall) -> Result<Option<Written>> {
        let trees = fold(&found.lying.files);
        let tree = trees.last().context("a tree without a top")?.id;
        let same = found.newest.as_ref().filter(|newest| newest.tree == tree);
        let (commit, is_new) = match same {
            Some(newest) => (newest.commit, false),
            None => {
                let commit = self.commit(tree, found.head.commit);
                let new = found.lying.new.iter().chain(&trees).chain([&commit]);
                new.into_iter()
                    .try_for_each(|object| found.objects.write(object))?;
                (commit.id, true)
            }
        };
        let naming = Naming {
            git_dir: &self.git_dir,
            work_tree: &self.work_tree,
            author: &self.author,
            at_s: self.at_s,
            why: format!("ralphd: iteration {}", self.number),
        };
        let is_known = self.since.as_deref() == Some(&commit.to_string());
        if (!is_known && !naming.name_point(&self.name, commit)?)
            || (is_new && !naming.move_head(&found.head, commit)?)
        {
            return Ok(None);
        }
        let files = found
            .since
            .and_then(|since| changes::changes(&found.objects, &since, &found.lying.files));
        recall.newest = Some(Held {
            commit,
            tree,
            files: found.lying.files,
        });
        Ok(Some(Written {
            commit,
            is_new,
            files,
        }))
    }

    fn commit(&self, tree: Id, parent: Option<Id>) -> Object {
        let Author { name, email } = &self.author;
        let parent = parent.map(|parent| format!("parent {parent}\n"));
        let who = format!("{name} <{email}> {} +0000", self.at_s);
        let text = format!(
            "tree {tree}\n{}author {who}\ncommitter {who}\n\n{}",
            parent.unwrap_or_default(),
            self.message
        );
        Object::new(Kind::Commit, text.into_bytes())
    }
}

/// A directory and the points that it is compared with.
struct Found {
    objects: Objects,
    head: Head,
    newest: Option<Held>,
    since: Option<Flat>,
    lying: Lying,
}

fn held(objects: &Objects, commit: Id) -> Option<Held> {
    let text = objects.read(commit, Kind::Commit)?;
    let first = text.split(|byte| *byte == b'\n').next()?;
    let tree = std::str::from_utf8(first.strip_prefix(b"tree ")?).ok()?;
    let tree = Id::parse(tree)?;
    Some(Held {
        commit,
        tree,
        files: unfold(objects, tree)?,
    })
}
