//! Tasks that are behind us, as a prompt tells of them: what each was and what came of it, cut so that all of them fit.

use crate::model::shorten::{head, head_and_tail};
use crate::model::task::TaskState;
use serde::Serialize;
use serde_json::Value as Json;

/// What the results of all earlier tasks may take in one prompt.
pub const MAX_RESULTS_BYTES: usize = 48 * 1024;
const MAX_DESCRIPTION_BYTES: usize = 2000;
const MAX_ERROR_BYTES: usize = 4000;

/// A task and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct EarlierTask {
    pub order: u32,
    pub description: String,
    pub status: TaskState,
    pub result: Option<String>,
    pub error: Option<String>,
}

impl EarlierTask {
    /// A result is shown as text where it is one, else as JSON.
    pub fn new(
        order: u32,
        description: &str,
        status: TaskState,
        result: Option<&Json>,
        error: Option<&str>,
    ) -> Self {
        let shown = |result: &Json| match result {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self {
            order,
            description: head(description, MAX_DESCRIPTION_BYTES).to_owned(),
            status,
            result: result.map(shown),
            error: error.map(|error| head_and_tail(error, MAX_ERROR_BYTES).into_owned()),
        }
    }
}

/// The tasks with their results cut to `max_bytes` in all. Short results stay whole, and leave their room to the long ones.
pub fn sharing(max_bytes: usize, mut tasks: Vec<EarlierTask>) -> Vec<EarlierTask> {
    let mut results: Vec<&mut String> = tasks
        .iter_mut()
        .filter_map(|task| task.result.as_mut())
        .collect();
    results.sort_by_key(|result| result.len());
    let (mut room, mut left) = (max_bytes, results.len());
    for result in results {
        let share = room / left;
        if result.len() > share {
            *result = head_and_tail(result, share).into_owned();
        }
        room -= result.len();
        left -= 1;
    }
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn done(result: Json) -> EarlierTask {
        EarlierTask::new(1, "Count", TaskState::Completed, Some(&result), None)
    }

    #[test]
    fn short_results_leave_their_room_to_long_ones() {
        let tasks = sharing(
            1000,
            vec![
                done(json!("x".repeat(2000))),
                done(json!({ "total": 42 })),
                done(json!("short")),
                EarlierTask::new(4, "No", TaskState::Skipped, None, Some("no data")),
            ],
        );
        let results: Vec<_> = tasks.iter().map(|task| task.result.as_deref()).collect();
        assert_eq!(results[1..], [Some("{\"total\":42}"), Some("short"), None]);
        let long = results[0].unwrap();
        assert!(
            long.len() > 950 && long.contains("bytes left out"),
            "{long}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn all_results_together_fit(lengths in prop::collection::vec(0..500usize, 0..20), max_bytes in 0..3000usize) {
            let tasks = lengths.iter().map(|length| done(json!("é".repeat(*length)))).collect();
            let shared = sharing(max_bytes, tasks);
            let told: usize = shared.iter().flat_map(|task| &task.result).map(String::len).sum();
            prop_assert!(told <= max_bytes);
        }
    }
}
