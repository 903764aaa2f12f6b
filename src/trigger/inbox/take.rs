//! Taking entries, crash-safe and exactly once. An entry is first moved to `.taken/<session-id>.<name>`, then its session is made
//! under that very id, then it is moved to `accepted/`. After a crash the name in `.taken` says which session to look for:
//! there, only the last move is missing; not there, it is taken as if it had just come. An answer is remembered by that id as well.

use super::Inbox;
use super::names;
use crate::clock::{new_id, now_ms};
use crate::files;
use crate::model::event::EventType;
use crate::model::request::Request;
use crate::model::session::Trigger;
use crate::store::Store;
use crate::store::events::{self, About};
use crate::store::sessions;
use crate::trigger::answer;
use crate::trigger::intake::{Origin, Reception};
use anyhow::{Context, Result, anyhow};
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub const ACCEPTED: &str = "accepted";
pub const REJECTED: &str = "rejected";
pub const TAKEN: &str = ".taken";
/// Names tried for a rejected entry whose name is taken already.
const MAX_SAME_NAMES: usize = 10_000;

/// A request that cannot be taken, and why; the sender can mend it.
#[derive(Debug)]
struct NotAcceptable(String);

impl std::fmt::Display for NotAcceptable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NotAcceptable {}

/// An entry in `.taken`.
struct Taken {
    id: String,
    name: OsString,
    path: PathBuf,
}

/// An empty file may be one whose writer has just begun; everything else that was closed is whole.
pub fn looks_whole(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|facts| !facts.is_file() || facts.len() > 0)
}

impl Inbox {
    /// Takes a batch of entries.
    pub(super) async fn take(&self, batch: &[OsString]) -> Result<()> {
        let mut taken = Vec::with_capacity(batch.len());
        for name in batch.iter().filter(|name| names::is_candidate(name)) {
            match self.grasp(name) {
                Ok(Some(entry)) => taken.push(entry),
                Ok(None) => {}
                Err(error) => {
                    tracing::error!("cannot take {} from the inbox: {error:#}", shown(name))
                }
            }
        }
        if taken.is_empty() {
            return Ok(());
        }
        // A power cut after the sessions are durable must not bring the files back into the inbox.
        File::open(self.path.join(TAKEN))?.sync_all()?;
        self.settle_all(taken).await
    }

    /// What was taken but not finished: by a daemon that died, or for want of disk space or the like.
    pub(super) async fn finish_taken(&self) -> Result<()> {
        let folder = self.path.join(TAKEN);
        let listing = std::fs::read_dir(&folder)
            .with_context(|| format!("cannot read {}", folder.display()))?;
        let mut taken = Vec::new();
        for entry in listing.flatten() {
            let Some((id, name)) = names::split_id(&entry.file_name()) else {
                continue;
            };
            taken.push(Taken {
                id,
                name,
                path: entry.path(),
            });
        }
        self.settle_all(taken).await
    }

    /// Moves an entry out of everybody's reach; nothing when somebody else was faster.
    fn grasp(&self, name: &OsStr) -> Result<Option<Taken>> {
        let id = new_id();
        let path = self.path.join(TAKEN).join(names::with_id(&id, name));
        match std::fs::rename(self.path.join(name), &path) {
            Ok(()) => Ok(Some(Taken {
                id,
                name: name.to_owned(),
                path,
            })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Settles each entry; the writes of a batch go to the disk together.
    async fn settle_all(&self, taken: Vec<Taken>) -> Result<()> {
        let mut admitted = Vec::with_capacity(taken.len());
        for entry in taken {
            let prepared = self.read(&entry);
            admitted.push(async move {
                let outcome = match prepared {
                    Ok(wanted) => self.admit(&entry, wanted).await,
                    Err(refusal) => Err(refusal),
                };
                (entry, outcome)
            });
        }
        let mut trouble = Ok(());
        for (entry, outcome) in all_at_once(admitted).await {
            // What keeps one entry from being put away need not keep the others.
            trouble = trouble.and(self.put_away(&entry, outcome).await);
        }
        trouble
    }

    async fn put_away(&self, entry: &Taken, outcome: Result<String>) -> Result<()> {
        match outcome {
            Ok(session) => self.accept(entry, &session),
            Err(refusal) if refusal.is::<NotAcceptable>() => {
                self.reject(entry, &refusal.to_string()).await
            }
            // The database is out of order: the entry stays in `.taken` for the next look.
            Err(error) => Err(error),
        }
    }

    fn read(&self, entry: &Taken) -> Result<Wanted> {
        let name = names::check(&entry.name).map_err(NotAcceptable)?;
        let max_bytes = self.house.config.inbox.max_bytes;
        let bytes = files::read_regular(&entry.path, max_bytes)
            .map_err(|problem| NotAcceptable(problem.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let line = error.as_bytes()[..error.utf8_error().valid_up_to()]
                .split(|byte| *byte == b'\n')
                .count();
            NotAcceptable(format!("line {line}: it is not UTF-8"))
        })?;
        if text.trim().is_empty() {
            return Err(anyhow!(NotAcceptable(
                "it is empty; write down what is to be done".to_owned()
            )));
        }
        let refused = |error: &dyn std::fmt::Display| NotAcceptable(error.to_string());
        if answer::is_answer(name) {
            let given =
                answer::parse(name, &text).map_err(|error| refused(&format!("{error:#}")))?;
            return Ok(Wanted::Answer(given));
        }
        let request = match name.ends_with(".json") {
            true => Request::from_json(&text),
            false => Request::from_markdown(&text),
        };
        let request = request.map_err(|problems| refused(&problems))?;
        Ok(Wanted::Session(Box::new(request.overlay(&self.defaults))))
    }

    async fn admit(&self, entry: &Taken, wanted: Wanted) -> Result<String> {
        let store = &self.house.store;
        if exists(store, &entry.id).await? {
            return Ok(entry.id.clone());
        }
        match wanted {
            Wanted::Session(request) => {
                let name = entry.name.to_string_lossy();
                let origin = Origin {
                    session_id: entry.id.clone(),
                    stem: Some(names::stem(&name).to_owned()),
                    directory: Some(self.path.clone()),
                    ..Origin::new(Trigger::Inbox)
                };
                let new = Reception::from(&*self.house)
                    .prepare(*request, origin)
                    .map_err(|error| NotAcceptable(format!("{error:#}")))?;
                let created = store.write(move |sql| sessions::create(sql, &new)).await?;
                Ok(created.id().to_owned())
            }
            Wanted::Answer(given) => answer::give_once(store, given, &entry.id)
                .await
                .map_err(refusal_unless_unavailable),
        }
    }

    fn accept(&self, entry: &Taken, session: &str) -> Result<()> {
        let wanted = names::with_id(session, &entry.name);
        self.put(entry, ACCEPTED, &wanted)?;
        tracing::info!(session, file = %entry.name.display(), "request accepted");
        Ok(())
    }

    /// The reason is there before the entry is: whoever sees the one finds the other.
    async fn reject(&self, entry: &Taken, reason: &str) -> Result<()> {
        let shown = shown(&entry.name);
        tracing::warn!(file = shown, "request rejected: {reason}");
        let (name, note) = self.free_names_in_rejected(&entry.name)?;
        let text = format!(
            "{shown} was not accepted:\n\n{reason}\n\nMend it and move it back into the inbox.\n"
        );
        files::write_whole(&self.path.join(REJECTED).join(note), text.as_bytes())?;
        self.put(entry, REJECTED, &name)?;
        let facts = json!({"file": shown, "reason": reason});
        self.house
            .store
            .write(move |sql| {
                events::add(
                    sql,
                    About::default(),
                    EventType::RequestRejected,
                    now_ms(),
                    &facts,
                )
            })
            .await
    }

    fn put(&self, entry: &Taken, folder: &str, name: &OsStr) -> Result<()> {
        let name = self.free_name(folder, name)?;
        std::fs::rename(&entry.path, self.path.join(folder).join(&name))
            .with_context(|| format!("cannot move {} to {folder}/", entry.name.display()))
    }

    fn free_name(&self, folder: &str, name: &OsStr) -> Result<OsString> {
        (0..MAX_SAME_NAMES)
            .map(|number| names::numbered(name, number, ""))
            .find(|name| self.is_free(folder, name))
            .with_context(|| format!("{folder}/ has too many entries called {}", shown(name)))
    }

    /// A name for an entry and one for its reason. Strangers choose names: an entry may be called like another's reason,
    /// and two long names may differ only where the reason's name is cut.
    fn free_names_in_rejected(&self, name: &OsStr) -> Result<(OsString, OsString)> {
        (0..MAX_SAME_NAMES)
            .map(|number| {
                let name = names::numbered(name, number, "");
                let note = names::numbered(&name, 0, ".error.txt");
                (name, note)
            })
            .find(|(name, note)| self.is_free(REJECTED, name) && self.is_free(REJECTED, note))
            .with_context(|| format!("{REJECTED}/ has too many entries called {}", shown(name)))
    }

    fn is_free(&self, folder: &str, name: &OsStr) -> bool {
        let path = self.path.join(folder).join(name);
        path.symlink_metadata().is_err()
    }
}

/// A stranger's name, harmless in a log and on a terminal.
fn shown(name: &OsStr) -> String {
    name.to_string_lossy().replace(char::is_control, "?")
}

/// What an entry asks for.
enum Wanted {
    Session(Box<Request>),
    Answer(answer::Answer),
}

async fn exists(store: &Store, session: &str) -> Result<bool> {
    let id = session.to_owned();
    store
        .read(move |sql| Ok(sessions::get(sql, &id)?.is_some()))
        .await
}

fn refusal_unless_unavailable(error: anyhow::Error) -> anyhow::Error {
    match error.is::<crate::store::Unavailable>() {
        true => error,
        false => anyhow!(NotAcceptable(format!("{error:#}"))),
    }
}

/// Drives all futures together, in order of their results' positions.
async fn all_at_once<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut pending: Vec<_> = futures
        .into_iter()
        .map(|future| (Box::pin(future), None))
        .collect();
    std::future::poll_fn(|context| {
        for (future, result) in pending.iter_mut().filter(|(_, result)| result.is_none()) {
            if let std::task::Poll::Ready(value) = future.as_mut().poll(context) {
                *result = Some(value);
            }
        }
        match pending.iter().all(|(_, result)| result.is_some()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    pending
        .into_iter()
        .filter_map(|(_, result)| result)
        .collect()
}
