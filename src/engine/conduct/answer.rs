//! What the tasks came to, as the answer to what was asked: by the summarizer, or as a plain digest where there is none to be had.

use crate::engine::exec::earlier;
use crate::engine::prompt::{AnswerPrompt, Material};
use crate::engine::work::{Consulted, Question, Work, first_line};
use crate::model::promise;
use crate::model::role::Role;
use crate::model::session::{EndReason, SessionStep};
use crate::model::task::{TaskKind, TaskState, TaskStep};
use crate::store::plans::{self, Piece};
use crate::store::sessions::Ending;
use crate::store::tasks::Settlement;
use anyhow::Result;
use serde_json::{Value as Json, json};

/// Of a result in a digest.
const MAX_DIGEST_BYTES: usize = 4000;

pub(super) async fn run(work: Work) -> Result<()> {
    work.keep_the_rest().await?;
    let Some(mut work) = work.publish().await? else {
        return Ok(());
    };
    let session = work.session.id.clone();
    let pieces = work
        .house
        .store
        .read(move |sql| plans::pieces(sql, &session))
        .await?;
    let material = Material {
        dependencies: earlier(&pieces),
        datasets: None,
        error: None,
        ..work.material().await?
    };
    let house = work.house.clone();
    let promise = work.mission.promise.clone();
    let question = Question {
        role: Role::Summarizer,
        in_workspace: false,
        schema: None,
        prompt: &|problem| {
            let material = material.clone().after(problem);
            house.prompts.answer(&AnswerPrompt { material })
        },
        read: &|text| match promise::answer_in(text, &promise) {
            empty if empty.is_empty() || empty == promise => {
                Err("there was no answer in it".to_owned())
            }
            answer => Ok(answer),
        },
    };
    let answer = match work.consult(&question).await? {
        Consulted::Answer(answer) => answer,
        Consulted::Later(parking) => return work.park(parking).await,
        Consulted::Stopped => return work.stop().await,
        // The work is done; that nobody can put it nicely is no reason to lose it.
        Consulted::Spent(..) | Consulted::Failed(_) => digest(&pieces).unwrap_or_default(),
    };
    end(work, answer).await
}

async fn end(work: Work, answer: String) -> Result<()> {
    let settlement = Settlement {
        result: Some(json!({"answer": answer}).to_string()),
        summary: Some(first_line(&answer)),
        ..Settlement::default()
    };
    let ending = Ending {
        answer: Some(answer),
        verified: work.session.verified,
        ..Ending::new(SessionStep::Complete, EndReason::Completed, None)
    };
    work.end(TaskStep::Complete, settlement, ending).await
}

/// What each task came to, one after the other; nothing where none came to anything.
pub(super) fn digest(pieces: &[Piece]) -> Option<String> {
    let mut lines = Vec::new();
    for piece in pieces {
        let text = match piece.status {
            TaskState::Completed => in_words(piece),
            TaskState::Failed | TaskState::Skipped => {
                let error = piece.error.as_deref().unwrap_or_default();
                format!("{}: {}", piece.status, first_line(error))
            }
            _ => continue,
        };
        lines.push(format!("{}. {}\n   {text}", piece.order, piece.description));
    }
    let done = |piece: &Piece| piece.status == TaskState::Completed;
    pieces.iter().any(done).then(|| lines.join("\n"))
}

fn in_words(piece: &Piece) -> String {
    let result = piece.result.as_ref().unwrap_or(&Json::Null);
    let text = match (piece.kind, result["answer"].as_str()) {
        (TaskKind::Agent, Some(answer)) => answer.to_owned(),
        _ => match &piece.summary {
            Some(summary) if !summary.is_empty() => summary.clone(),
            _ => result.to_string(),
        },
    };
    crate::model::shorten::head(&text, MAX_DIGEST_BYTES).to_owned()
}
