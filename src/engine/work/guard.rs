//! The files that must not be changed to look finished, as the user gave them.

use super::{Asking, Work};
use crate::store::sessions;
use crate::workspace::protect;
use anyhow::Result;

/// The word by which a person accepts changed protected files.
const ACCEPT: &str = "accept";

/// Whether a person's words accept changed protected files.
pub(in crate::engine) fn accepts(answer: &str) -> bool {
    answer.trim().eq_ignore_ascii_case(ACCEPT)
}

pub(in crate::engine) fn tampering_question(files: &[String]) -> Asking {
    let question = format!(
        "The work passes its verification, but the agent changed protected files: {}. Answer '{ACCEPT}' to accept it all the same; anything else is told to the agent, who goes on.",
        files.join(", ")
    );
    Asking {
        question,
        options: [ACCEPT, "restore the protected files"]
            .map(str::to_owned)
            .into(),
        ..Asking::default()
    }
}

impl Work {
    /// Remembers them, before anything of the session has run.
    pub(in crate::engine) async fn remember_protected(&mut self) -> Result<()> {
        if self.mission.protect.is_empty() || self.session.protected.is_some() {
            return Ok(());
        }
        let hashes = protect::snapshot(&self.workspace, &self.mission.protect)?;
        let (id, stored) = (self.session.id.clone(), hashes.clone());
        self.house
            .store
            .write(move |sql| sessions::set_protected(sql, &id, &stored))
            .await?;
        self.session.protected = Some(hashes);
        Ok(())
    }

    /// Those that were changed since.
    pub(in crate::engine) fn tampered(&self) -> Result<Vec<String>> {
        match &self.session.protected {
            Some(before) => protect::changed_since(&self.workspace, &self.mission.protect, before),
            None => Ok(Vec::new()),
        }
    }
}
