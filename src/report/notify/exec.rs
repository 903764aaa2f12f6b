//! A program of the user's that is told: the JSON on stdin, a clean environment, a deadline. Its exit code says whether it took it.

use crate::config::Target;
use crate::engine::House;
use crate::model::notice::Refusal;
use crate::model::shorten::head;
use crate::process::{Captured, Errand, Exit, Surroundings, capture};
use crate::store::notices::Notice;

const OUTPUT_MAX_BYTES: usize = 16 * 1024;
const MAX_SHOWN_BYTES: usize = 200;

/// Runs it once.
pub(super) async fn run(house: &House, notice: &Notice, target: &Target) -> Result<(), Refusal> {
    let mut variables = vec![("RALPHD_OCCASION".to_owned(), notice.occasion.to_string())];
    if let Some(session) = &notice.session_id {
        variables.push(("RALPHD_SESSION_ID".to_owned(), session.clone()));
    }
    let timeout = target.timeout;
    let errand = Errand {
        environment: Surroundings::Allowed(variables),
        cwd: Some(house.state.clone()),
        input: Some(notice.body.clone().into_bytes()),
        ..Errand::new(
            target.command.clone(),
            timeout.to_duration(),
            OUTPUT_MAX_BYTES,
        )
    };
    match capture(&errand).await {
        Ok(captured) if captured.timed_out => {
            Err(format!("it was ended: it took longer than {timeout}").into())
        }
        Ok(captured) => judge(&captured),
        Err(error) => Err(format!("it could not be run: {error:#}").into()),
    }
}

fn judge(captured: &Captured) -> Result<(), Refusal> {
    let complaint = String::from_utf8_lossy(&captured.stderr);
    let last_line = complaint.lines().rfind(|line| !line.trim().is_empty());
    let said = last_line.map(|line| format!(": {}", head(line.trim(), MAX_SHOWN_BYTES)));
    let said = said.unwrap_or_default();
    match &captured.exit {
        Exit::Code(0) => Ok(()),
        Exit::Code(code) => Err(format!("exit code {code}{said}").into()),
        Exit::Signal(signal) => Err(format!("it died of signal {signal}{said}").into()),
        Exit::NotStarted(reason) => Err(format!("it cannot be started: {reason}").into()),
    }
}
