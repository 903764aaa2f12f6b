//! Lines on what happened to the files that a session works on.

use super::Facts;

impl Facts<'_> {
    /// What became of the workspace, in words; nothing where that is not worth a line.
    pub(super) fn ground(&self, kind: &str) -> Option<String> {
        let branch = || self.text("branch");
        Some(match kind {
            "workspace.prepared" => {
                format!("workspace ready, on branch {}", self.optional("branch")?)
            }
            "workspace.not_kept" => self.with_detail("not kept as a point".to_owned(), "problem"),
            "workspace.merged" => format!("{} merged", branch()),
            "workspace.conflicted" => format!("{} is in conflict", branch()),
            "workspace.pushed" => format!("{} pushed to {}", branch(), self.text("to")),
            "workspace.not_pushed" => self.with_detail(format!("{} not pushed", branch()), "why"),
            _ => return None,
        })
    }
}
