//! One at a time on one repository: what moves its branches and trees takes turns. A matter of this process: the daemon is the only one, and
//! after its end nothing is held. It must not be held while an agent works.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use tokio::sync::{Mutex as Gate, OwnedMutexGuard};

static GATES: LazyLock<Mutex<HashMap<PathBuf, Weak<Gate<()>>>>> = LazyLock::new(Mutex::default);

/// A turn on a repository. It ends with the last copy: what goes on in a thread of its own keeps one, so that nobody comes in between.
pub type Turn = Arc<OwnedMutexGuard<()>>;

/// Waits for the turn on the repository with these branches.
pub async fn on(common_dir: &Path) -> Turn {
    let name = common_dir
        .canonicalize()
        .unwrap_or_else(|_| common_dir.to_owned());
    let gate = gate(name);
    Arc::new(gate.lock_owned().await)
}

fn gate(name: PathBuf) -> Arc<Gate<()>> {
    let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
    gates.retain(|_, gate| gate.strong_count() > 0);
    if let Some(gate) = gates.get(&name).and_then(Weak::upgrade) {
        return gate;
    }
    let gate = Arc::new(Gate::new(()));
    gates.insert(name, Arc::downgrade(&gate));
    gate
}
