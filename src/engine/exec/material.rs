//! What a task is told: its step, the results it builds on, the tables there are, what went wrong before, what people said.

use crate::clock::new_id;
use crate::dataset::{Datasets, ImportLimits, Source, Trouble};
use crate::engine::prompt::{
    Answered, EarlierTask, MAX_RESULTS_BYTES, Material, StepPrompt, TaskCard, sharing,
};
use crate::engine::ralph::Orders;
use crate::engine::work::Work;
use crate::model::task::TaskState;
use crate::store::humans::{self, HumanRequest, HumanStatus};
use crate::store::plans::{self, Piece};
use anyhow::Result;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// What the tables of a session may take in a prompt.
const MAX_SCHEMA_BYTES: usize = 32 * 1024;

impl Work {
    /// What the tasks came to that this one depends on.
    pub(in crate::engine) async fn dependencies(&self) -> Result<Vec<Piece>> {
        let id = self.task.id.clone();
        self.house
            .store
            .read(move |sql| plans::dependencies(sql, &id))
            .await
    }

    /// Everything that a role is told of this task.
    pub(in crate::engine) async fn material(&self) -> Result<Material> {
        let session = self.session.id.clone();
        let asked = self
            .house
            .store
            .read(move |sql| humans::of_session(sql, &session))
            .await?;
        Ok(Material {
            objective: self.mission.objective.clone(),
            task: self.step.as_ref().map(TaskCard::from),
            dependencies: earlier(&self.dependencies().await?),
            datasets: self.tables_in_words().await?,
            error: self.task.error_message.clone(),
            answers: answers_of(&asked),
            // Nobody who wrote any of it could know this line, so nothing in it can end it.
            boundary: new_id(),
            schema: String::new(),
        })
    }

    /// What the loop is told of its step.
    pub(in crate::engine) async fn orders(&self) -> Result<Orders> {
        let step = self.step.as_ref();
        let prompt = StepPrompt {
            order: step.map_or(0, |step| step.order),
            description: self.task.description.clone(),
            expected_output: step.and_then(|step| step.expected_output.clone()),
            dependencies: earlier(&self.dependencies().await?),
            error: self.task.error_message.clone(),
            boundary: new_id(),
        };
        let after = self.task.tried_until;
        Ok(Orders { prompt, after })
    }

    /// The datasets of the session, imported where they have to be.
    pub(in crate::engine) async fn datasets(&self) -> Result<Result<Option<Datasets>, Trouble>> {
        if self.mission.datasets.is_empty() {
            return Ok(Ok(None));
        }
        let workspace = self.workspace.clone();
        let names = self.mission.datasets.clone();
        let prepared = tokio::task::spawn_blocking(move || {
            let sources: Vec<Source> = names
                .iter()
                .map(|name| Source::parse(name, &workspace))
                .collect();
            Datasets::prepare(&workspace, &sources, &ImportLimits::default())
        });
        Ok(prepared.await?.map(Some))
    }

    pub(in crate::engine) async fn tables_in_words(&self) -> Result<Option<String>> {
        let datasets = self.datasets().await?.ok().flatten();
        Ok(datasets.map(|datasets| datasets.schema().in_words(MAX_SCHEMA_BYTES)))
    }
}

/// Tasks that are behind us, cut so that all of them fit a prompt.
pub fn earlier(pieces: &[Piece]) -> Vec<EarlierTask> {
    let tasks = pieces.iter().map(|piece| {
        let (result, error) = (piece.result.as_ref(), piece.error.as_deref());
        EarlierTask::new(piece.order, &piece.description, piece.status, result, error)
    });
    sharing(MAX_RESULTS_BYTES, tasks.collect())
}

/// The results by their orders, as placeholders and filters find them. What was skipped has none.
pub(super) fn results_of(pieces: &[Piece]) -> BTreeMap<u32, Json> {
    let done = pieces
        .iter()
        .filter(|piece| piece.status == TaskState::Completed);
    done.map(|piece| (piece.order, piece.result.clone().unwrap_or(Json::Null)))
        .collect()
}

pub(in crate::engine) fn answers_of(asked: &[HumanRequest]) -> Vec<Answered> {
    let answered = asked
        .iter()
        .filter(|asked| asked.status == HumanStatus::Answered);
    answered
        .filter_map(|asked| {
            Some(Answered {
                question: asked.question.clone(),
                answer: asked.answer.clone()?,
            })
        })
        .collect()
}
