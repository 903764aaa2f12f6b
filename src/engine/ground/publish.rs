//! Handing the work on when a session is done: its branch is pushed to where it came from, if that is wanted, and only with a person's
//! approval where that is wanted too. What cannot be pushed is said; the work is done all the same.

use crate::clock::{new_id, now_ms};
use crate::engine::work::Work;
use crate::model::event::EventType;
use crate::store::driver::Sql;
use crate::store::events::{self, About};
use crate::store::humans::{self, HumanKind, HumanStatus, NewQuestion};
use crate::workspace::git::{self, Form, Ground, Pushed, Repository};
use anyhow::Result;
use serde_json::json;

/// Of a difference in a question: a person is to read it. The rest is shown by a command.
const MAX_SHOWN_BYTES: usize = 8 * 1024;

impl Work {
    /// Pushes the session's branch where that is wanted; nothing comes back when a person is asked first.
    pub(in crate::engine) async fn publish(self) -> Result<Option<Work>> {
        let is_wanted = self.house.config.git.push && self.session.parent_session_id.is_none();
        let Some(to) = self.mission.workspace.repo.clone().filter(|_| is_wanted) else {
            return Ok(Some(self));
        };
        let Some(main) = self.main_repository().await? else {
            return Ok(Some(self));
        };
        let branch = self.working_branch(&main).await?;
        let what = format!("May the branch {branch} be pushed to {to}?");
        let Some(work) = self.with_approval(&what, &main, None).await? else {
            return Ok(None);
        };
        let timeout = work.house.config.git.timeout.into();
        let pushed = git::push(&main, &to, &branch, timeout).await?;
        let (kind, facts) = match pushed {
            Pushed::Done => (
                EventType::WorkspacePushed,
                json!({"branch": branch, "to": to}),
            ),
            Pushed::Refused(why) => {
                tracing::warn!(session = work.session.id, "not pushed: {why}");
                (
                    EventType::WorkspaceNotPushed,
                    json!({"branch": branch, "to": to, "why": why}),
                )
            }
        };
        let id = work.session.id.clone();
        let tell =
            move |sql: &mut dyn Sql| events::add(sql, About::session(&id), kind, now_ms(), &facts);
        work.house.store.write(tell).await?;
        Ok(Some(work))
    }

    /// The work, once a person has approved of what is about to happen, where `[git] require_approval` asks for that.
    pub(in crate::engine) async fn with_approval(
        self,
        what: &str,
        main: &Repository,
        upto: Option<&str>,
    ) -> Result<Option<Work>> {
        if !self.house.config.git.require_approval {
            return Ok(Some(self));
        }
        let (session, task) = (self.session.id.clone(), self.task.id.clone());
        let asked = move |sql: &mut dyn Sql| humans::of_task(sql, &session, &task);
        let asked = self.house.store.read(asked).await?;
        let approved = asked.iter().any(|asked| {
            asked.kind == HumanKind::Gate
                && asked.status == HumanStatus::Approved
                && asked.question.starts_with(what)
        });
        if approved {
            return Ok(Some(self));
        }
        let shown = self.difference(main, upto).await?;
        let gate = NewQuestion {
            id: new_id(),
            kind: HumanKind::Gate,
            question: format!("{what}\n\n{shown}"),
            options: vec!["approve".to_owned(), "reject".to_owned()],
            error: None,
            error_type: None,
            result: None,
            expires_at_ms: now_ms() + self.mission.human_timeout_ms,
        };
        self.leave(move |sql, claim, at_ms| humans::ask(sql, claim, &gate, at_ms))
            .await?;
        Ok(None)
    }

    /// What is about to be handed on, so that nobody approves blindly.
    async fn difference(&self, main: &Repository, upto: Option<&str>) -> Result<String> {
        let id = self.session.id.clone();
        let start = move |sql: &mut dyn Sql| crate::store::restore_points::get(sql, &id, 0);
        let start = self.house.store.read(start).await?;
        let head = match upto {
            Some(upto) => main.commit_of(upto).await?,
            None => main.head().await?,
        };
        let (Some(start), Some(head)) = (start, head) else {
            return Ok(String::new());
        };
        let ground = Ground::Own(main.clone());
        let ends = (
            (&ground, start.commit_id.as_str()),
            (&ground, head.as_str()),
        );
        let stat = git::diff(ends.0, ends.1, Form::Stat, false, MAX_SHOWN_BYTES).await?;
        let patch = git::diff(ends.0, ends.1, Form::Patch, false, MAX_SHOWN_BYTES).await?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end().to_owned();
        let all = crate::model::id::short(&self.session.id);
        Ok(format!(
            "{}\n\n{}\n\nAll of it: ralphd diff {all}",
            text(stat),
            text(patch)
        ))
    }
}
