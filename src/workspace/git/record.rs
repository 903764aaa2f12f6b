//! What one turn of an agent left behind, kept as a point that one can go back to. Called again after a crash, it makes the very same
//! commit. It must not run anything that the repository names, nor lose a commit that anybody made.

use super::commit::commit_tree;
use super::facts::{CommitMade, Facts, FileChange, commits_between, files_between, one_line};
use super::ground::Ground;
use super::references::{Orders, point_name};
use super::removal::named;
use super::repository::Repository;
use super::seen::Seen;
use super::since::{self, Known};
use super::stage::Stage;
use super::survey::{Survey, survey};
use super::written::{self, Recall};
use super::{follow, seen, under_way, warnings};
use crate::model::mask::Mask;
use anyhow::{Context, Result};

/// Says that a directory was too large, so that it is said once.
const TOO_LARGE: &str = "ralphd.too-large";

/// When and for whom a point is made.
#[derive(Clone, Debug)]
pub struct Moment<'a> {
    pub session: &'a str,
    /// 0: before the first iteration; such a point never moves a branch.
    pub number: i64,
    pub task: Option<&'a str>,
    /// The time that the commit bears; the same for a second try.
    pub at_ms: i64,
    pub subject: String,
    /// Whether the branch moves; otherwise the point is kept beside it.
    pub commits: bool,
    /// The commit of the point before.
    pub since: Option<&'a str>,
    pub mask: &'a Mask,
    /// Larger files are warned about.
    pub large_bytes: u64,
}

/// A point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Nothing where the workspace is too large to be kept.
    pub commit: Option<String>,
    /// Whether anything moved since the point before, in the tree or by commits.
    pub changed: bool,
    pub facts: Facts,
    pub warnings: Vec<String>,
}

/// The point that was found or made.
struct Made {
    commit: String,
    is_new: bool,
    /// Where the branch ends now.
    head: Option<String>,
}

impl Made {
    fn found(commit: &str, head: Option<&String>) -> Self {
        Self {
            commit: commit.to_owned(),
            is_new: false,
            head: head.cloned(),
        }
    }
}

/// Makes a point of the workspace as it is.
pub async fn record(ground: &Ground, moment: &Moment<'_>) -> Result<Recorded> {
    record_with(ground, moment, &mut Recall::default()).await
}

/// The same, with what is remembered of a plain directory from the point before.
pub async fn record_with(
    ground: &Ground,
    moment: &Moment<'_>,
    recall: &mut Recall,
) -> Result<Recorded> {
    let ground = &ground.again().await?;
    let repository = ground.repository();
    if ground.is_shadow()
        && let Some(recorded) = written::record(repository, moment, recall).await?
    {
        seen::forget_point(repository);
        let _ = std::fs::remove_file(repository.git_dir().join(TOO_LARGE));
        return Ok(recorded);
    }
    by_git(ground, moment).await
}

async fn by_git(ground: &Ground, moment: &Moment<'_>) -> Result<Recorded> {
    let repository = ground.repository();
    let seen = match ground {
        Ground::Own(_) => None,
        Ground::Shadow(_) => Some(Seen::take(repository).await?),
    };
    if let Some(commit) = seen.as_ref().and_then(Seen::unmoved_since)
        && moment.since == Some(&commit)
    {
        return Ok(unchanged(commit));
    }
    let behind = match ground {
        Ground::Own(own) => follow::catch_up(own).await?,
        Ground::Shadow(_) => Vec::new(),
    };
    let Some(survey) = survey(ground, moment.mask, false).await? else {
        return too_large(repository);
    };
    let mut said = warnings::of_survey(ground, &survey);
    let under_way = under_way::what(repository, &survey.look.entries);
    if let Some(what) = under_way.filter(|_| moment.commits) {
        said.push(format!(
            "{what} is under way: the tree was kept beside the branch, which was not moved"
        ));
    }
    if !behind.is_empty() && moment.commits {
        said.push(format!(
            "the workspace could not follow its branch, because others have changed {} in it: the tree was kept beside the branch, which was not moved",
            named(&behind)
        ));
    }
    let is_empty = survey.choice.is_nothing() && survey.look.head.is_none();
    let making = Making {
        ground,
        moment,
        survey,
        onto_branch: ground.is_shadow()
            || (moment.commits
                && moment.number > 0
                && under_way.is_none()
                && behind.is_empty()
                && !is_empty),
    };
    let mut recorded = making.record().await?;
    said.append(&mut recorded.warnings);
    recorded.warnings = said;
    if let (Some(seen), Some(commit)) = (seen, &recorded.commit) {
        let _ = std::fs::remove_file(repository.git_dir().join(TOO_LARGE));
        seen.keep(commit);
    }
    Ok(recorded)
}

/// What a point's commit says.
pub(super) fn message(moment: &Moment<'_>, onto_branch: bool) -> String {
    let subject = one_line(&moment.subject, moment.mask);
    let mut message = format!(
        "{subject}\n\nRalphd-Session: {}\nRalphd-Iteration: {}\n",
        moment.session, moment.number
    );
    if !onto_branch {
        message.push_str(since::BESIDE);
    }
    if let Some(task) = moment.task {
        message.push_str(&format!("Ralphd-Task: {}\n", one_line(task, moment.mask)));
    }
    message
}

fn unchanged(commit: String) -> Recorded {
    Recorded {
        commit: Some(commit),
        ..Recorded::default()
    }
}

fn too_large(repository: &Repository) -> Result<Recorded> {
    let mark = repository.git_dir().join(TOO_LARGE);
    let mut recorded = Recorded {
        changed: true,
        ..Recorded::default()
    };
    if !mark.exists() {
        recorded.warnings.push(format!(
            "{} holds too much (over 200,000 new files or 2 GiB): no restore points are kept",
            repository.work_tree().display()
        ));
        std::fs::write(&mark, "").with_context(|| format!("cannot write {}", mark.display()))?;
    }
    Ok(recorded)
}

/// A point that is being made.
struct Making<'a> {
    ground: &'a Ground,
    moment: &'a Moment<'a>,
    survey: Survey,
    /// Whether the branch moves with it.
    onto_branch: bool,
}

impl Making<'_> {
    async fn record(&self) -> Result<Recorded> {
        let (head, since) = (&self.survey.look.head, self.moment.since);
        if self.survey.choice.is_nothing() && since.is_some() && head.as_deref() == since {
            return Ok(Recorded {
                facts: self.place(head.clone()),
                ..unchanged(since.unwrap_or_default().to_owned())
            });
        }
        let (made, before) = self.find_or_make().await?;
        let keeping = self.keep(&made);
        let counting = self.count(&made, before.as_ref());
        let ((), (facts, files)) = tokio::try_join!(keeping, counting)?;
        let agent_committed = before.as_ref().is_some_and(|since| {
            !self.ground.is_shadow()
                && head.as_ref() != Some(&since.commit)
                && *head != since.parent
        });
        let mut warnings =
            warnings::of_files(self.repository(), files, self.moment, agent_committed).await?;
        if since.is_some() && before.is_none() {
            warnings.push("the point before is not in this repository any more".to_owned());
        }
        Ok(Recorded {
            changed: match since {
                Some(since) => since != made.commit,
                None => made.is_new,
            },
            commit: Some(made.commit),
            facts,
            warnings,
        })
    }

    fn repository(&self) -> &Repository {
        self.ground.repository()
    }

    async fn find_or_make(&self) -> Result<(Made, Option<Known>)> {
        let head = &self.survey.look.head;
        let asked = since::head_and_since(self.repository(), self.moment.since);
        if self.survey.choice.is_nothing()
            && let Some(head) = head
        {
            let (_, since) = asked.await?;
            return Ok((Made::found(head, Some(head)), since));
        }
        let ((at_head, since), tree) = tokio::try_join!(asked, self.stage())?;
        let same = since
            .as_ref()
            .filter(|since| since.tree == tree && since.was_made_at(head.as_ref()));
        if let Some(same) = same {
            return Ok((Made::found(&same.commit, head.as_ref()), since));
        }
        if let Some(head) = head
            && at_head.is_some_and(|at_head| at_head.tree == tree)
        {
            return Ok((Made::found(head, Some(head)), since));
        }
        let commit = self.commit(&tree).await?;
        let made = Made {
            head: match self.onto_branch {
                true => Some(commit.clone()),
                false => head.clone(),
            },
            commit,
            is_new: true,
        };
        Ok((made, since))
    }

    /// The whole tree, as git holds it.
    async fn stage(&self) -> Result<String> {
        let stage = match self.onto_branch {
            true => Stage::own(self.repository()),
            false => Stage::copy(self.repository())?,
        };
        stage.apply(&self.survey.choice).await?;
        let tree = stage.tree().await?;
        stage.discard();
        Ok(tree)
    }

    async fn commit(&self, tree: &str) -> Result<String> {
        let parents: Vec<&str> = self.survey.look.head.iter().map(String::as_str).collect();
        let at_ms = self.moment.at_ms;
        commit_tree(
            self.repository(),
            tree,
            &parents,
            at_ms,
            message(self.moment, self.onto_branch),
        )
        .await
    }

    /// Names it, so that it stays, and moves the branch if it is to move.
    async fn keep(&self, made: &Made) -> Result<()> {
        let moment = self.moment;
        let mut orders = Orders::new(format!("ralphd: iteration {}", moment.number));
        if made.is_new && self.onto_branch {
            let head = self.survey.look.head.as_deref();
            match self.ground {
                Ground::Own(_) => orders.move_head(&made.commit, head),
                Ground::Shadow(_) => orders.set_head(&made.commit, head),
            }
        }
        if moment.since != Some(&made.commit) {
            orders.set(&point_name(moment.session, moment.number)?, &made.commit);
        }
        orders.carry_out(self.repository(), moment.at_ms).await
    }

    /// What happened since; all files that changed with it.
    async fn count(&self, made: &Made, since: Option<&Known>) -> Result<(Facts, Vec<FileChange>)> {
        let mut facts = self.place(made.head.clone());
        let Some(since) = since.filter(|since| since.commit != made.commit) else {
            return Ok((facts, Vec::new()));
        };
        let (files, commits) = tokio::try_join!(
            files_between(self.repository(), &since.commit, &made.commit),
            self.commits(made, since)
        )?;
        facts.count_commits(commits);
        facts.count_files(files.clone(), self.moment.mask);
        Ok((facts, files))
    }

    async fn commits(&self, made: &Made, since: &Known) -> Result<Vec<CommitMade>> {
        let head = self.survey.look.head.as_ref();
        let Some(end) = made.head.as_ref().filter(|_| !self.ground.is_shadow()) else {
            return Ok(Vec::new());
        };
        if made.head.as_ref() == head
            && (head == Some(&since.commit) || head == since.parent.as_ref())
        {
            return Ok(Vec::new());
        }
        if head == Some(&since.commit) {
            let subject = &self.moment.subject;
            return Ok(vec![CommitMade::new(end, subject, self.moment.mask)]);
        }
        commits_between(self.repository(), &since.commit, end, self.moment.mask).await
    }

    fn place(&self, head: Option<String>) -> Facts {
        match self.ground {
            Ground::Own(_) => Facts {
                branch: self.survey.look.branch.clone(),
                head,
                ..Facts::default()
            },
            Ground::Shadow(_) => Facts::default(),
        }
    }
}
