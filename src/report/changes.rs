//! What a session did to the files it worked on, from its first point to its last: for the answer, for `show`. It only looks.

use crate::engine::ground;
use crate::model::event::EventType;
use crate::model::mask::Mask;
use crate::store::driver::Sql;
use crate::store::events;
use crate::store::restore_points::{self, Ground, RestorePoint};
use crate::store::sessions::{self, Session};
use crate::workspace::git::{self, Facts, Tool};
use crate::workspace::places;
use anyhow::Result;
use serde::Serialize;
use serde_json::Value as Json;
use std::path::Path;

/// What the rows know of it.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    points: Vec<RestorePoint>,
    /// The newest in its own directory that it goes on from: it may have been rewound.
    last: Option<RestorePoint>,
    handed_on: Option<(EventType, Json)>,
}

/// What came of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Changes {
    pub branch: Option<String>,
    /// The commit that it started from, and the one that it came to.
    pub from: Option<String>,
    pub to: Option<String>,
    /// Files and commits between them.
    #[serde(flatten)]
    pub facts: Facts,
    /// Branches of tasks that are in no other: their work is there and nowhere else.
    pub unmerged: Vec<String>,
    /// What was remarked on while it was kept.
    pub remarks: Vec<String>,
    /// Where the branch was pushed to, or why not.
    pub handed_on: Option<String>,
    /// Why it cannot be told.
    pub problem: Option<String>,
}

impl Traces {
    pub fn find(sql: &mut dyn Sql, session: &str) -> Result<Self> {
        let kinds = [EventType::WorkspacePushed, EventType::WorkspaceNotPushed];
        let handed_on = events::last_of(sql, session, &kinds)?;
        let place = sessions::expect(sql, session)?.workspace;
        Ok(Self {
            points: restore_points::of_session(sql, session)?,
            last: restore_points::last(sql, session, &place)?,
            handed_on,
        })
    }

    /// The first point, and the last in the same directory.
    fn ends(&self) -> Option<(&RestorePoint, &RestorePoint)> {
        let first = self.points.iter().find(|point| point.number == 0)?;
        let last = self.last.as_ref();
        Some((first, last.filter(|last| last.ground == first.ground)?))
    }
}

/// Looks at what a session changed; nothing where no point of it was kept.
pub async fn changes(
    tool: &Tool,
    state: &Path,
    session: &Session,
    traces: &Traces,
    mask: &Mask,
) -> Option<Changes> {
    let (first, last) = traces.ends()?;
    let mut changes = Changes {
        branch: last.branch.clone(),
        from: (first.ground == Ground::Own).then(|| first.commit_id.clone()),
        to: (first.ground == Ground::Own).then(|| last.commit_id.clone()),
        handed_on: traces.handed_on.as_ref().map(handed_on_in_words),
        ..Changes::default()
    };
    for point in &traces.points {
        for remark in &point.remarks {
            if !changes.remarks.contains(remark) {
                changes.remarks.push(remark.clone());
            }
        }
    }
    if let Err(error) = fill(
        tool,
        state,
        (session, traces),
        (first, last),
        &mut changes,
        mask,
    )
    .await
    {
        changes.problem = Some(format!("{error:#}"));
    }
    Some(changes)
}

async fn fill(
    tool: &Tool,
    state: &Path,
    (session, traces): (&Session, &Traces),
    (first, last): (&RestorePoint, &RestorePoint),
    changes: &mut Changes,
    mask: &Mask,
) -> Result<()> {
    if first.commit_id == last.commit_id && session.plan.is_none() {
        return Ok(());
    }
    let ground = ground::of_point(tool, state, session, last).await?;
    let workspace = Path::new(&session.workspace);
    let mut to = last.commit_id.clone();
    // Merges move the working branch beyond the last point that was kept on it.
    if let (Some(branch), Ground::Own) = (&first.branch, first.ground)
        && let Some(main) = places::repository(tool, state, workspace).await?
        && let Some(tip) = main.commit_of(&format!("refs/heads/{branch}")).await?
    {
        for other in branches(traces, branch) {
            let exists = main.commit_of(&format!("refs/heads/{other}")).await?;
            if exists.is_some() && !git::is_merged(&main, &other, branch).await? {
                changes.unmerged.push(other);
            }
        }
        if session.plan.is_some() {
            to = tip;
            changes.to = Some(to.clone());
        }
    }
    changes.facts = git::changes_between(&ground, &first.commit_id, &to, mask).await?;
    Ok(())
}

/// The branches of a session's tasks.
fn branches(traces: &Traces, working: &str) -> Vec<String> {
    let mut names: Vec<String> = traces
        .points
        .iter()
        .filter_map(|point| point.branch.clone())
        .filter(|branch| branch != working && branch.starts_with(working))
        .collect();
    names.sort();
    names.dedup();
    names
}

fn handed_on_in_words((kind, facts): &(EventType, Json)) -> String {
    let word = |key: &str| facts[key].as_str().unwrap_or_default().to_owned();
    match kind {
        EventType::WorkspacePushed => format!("{} pushed to {}", word("branch"), word("to")),
        _ => format!(
            "{} was NOT pushed to {}: {}",
            word("branch"),
            word("to"),
            word("why")
        ),
    }
}

impl Changes {
    /// The short facts, each under its name.
    pub fn particulars(&self) -> Vec<(&'static str, String)> {
        let mut list = Vec::new();
        if let Some(branch) = &self.branch {
            let short = |commit: &Option<String>| -> String {
                commit
                    .as_deref()
                    .unwrap_or_default()
                    .chars()
                    .take(10)
                    .collect()
            };
            let span = format!("{branch} ({}..{})", short(&self.from), short(&self.to));
            list.push(("Branch", span));
        }
        list.extend(self.facts.lines().into_iter().map(|line| ("Changes", line)));
        if !self.unmerged.is_empty() {
            list.push(("Not merged", self.unmerged.join(", ")));
        }
        list.extend(self.handed_on.iter().map(|words| ("Pushed", words.clone())));
        list.extend(self.remarks.iter().map(|words| ("Remark", words.clone())));
        if let Some(problem) = &self.problem {
            list.push(("Changes", format!("cannot be told: {problem}")));
        }
        list
    }
}
