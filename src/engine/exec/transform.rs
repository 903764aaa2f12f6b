//! `transform`: a jq filter over the results of the tasks it depends on.

use super::material::results_of;
use crate::engine::work::{Trouble, Work};
use crate::transform::{self, Limits};
use anyhow::Result;
use serde_json::{Map, Value as Json};
use std::path::Path;

/// This very program, even after its file was replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";

pub async fn run(work: Work) -> Result<()> {
    let step = work.step.as_ref();
    let filter = step
        .and_then(|step| step.filter.clone())
        .unwrap_or_default();
    let results = results_of(&work.dependencies().await?);
    let input: Map<String, Json> = results
        .into_iter()
        .map(|(order, result)| (order.to_string(), result))
        .collect();
    let (program, limits) = (Path::new(OWN_PROGRAM), Limits::default());
    let input = Json::Object(input);
    let mut stop = work.signals.stop.clone();
    let made = tokio::select! {
        made = transform::run(program, &filter, &input, &work.mission.inputs, &limits) => Some(made),
        Ok(_) = stop.wait_for(|stop| *stop) => None,
    };
    match made {
        None => work.stop().await,
        Some(Ok(result)) => {
            let summary = result.to_string();
            work.complete(result, &summary).await
        }
        Some(Err(trouble)) => {
            let trouble = Trouble::new(trouble.class, trouble.message);
            work.setback(trouble).await
        }
    }
}
