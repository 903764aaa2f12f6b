//! `ralphd submit`: a request into the queue, durable when this returns.

use super::arguments::Submitted;
use super::desk::Desk;
use super::exit::{Exit, Failure};
use super::nearby::{seen_from, workspace_seen_from};
use super::{follow, output};
use crate::agent::roster::Roster;
use crate::daemon;
use crate::files::{Unreadable, read_regular};
use crate::model::id::short;
use crate::model::request::Request;
use crate::model::session::{SessionState, Trigger};
use crate::process::Supervisor;
use crate::queue::wake;
use crate::store::Store;
use crate::store::humans::{self, HumanKind, HumanRequest};
use crate::store::sessions::{self, Created, Session};
use crate::trigger::intake::{Origin, Reception, parse};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::io::{IsTerminal, Read};
use std::ops::ControlFlow;
use std::path::Path;

pub fn submit(desk: Desk, wanted: Submitted) -> Result<Exit> {
    let (request, stem) = read_request(&desk, wanted.file.as_deref(), wanted.objective)?;
    let request = wanted.options.over(&request);
    let origin = Origin {
        stem,
        no_wait: wanted.no_wait,
        ..Origin::new(Trigger::Cli)
    };
    desk.block_on(async {
        let store = desk.store()?;
        let created = admit(&desk, &store, request, origin).await?;
        announce(&desk, &created)?;
        match wanted.wait {
            true => wait_for(&desk, &store, created.id()).await,
            false => Ok(Exit::Done),
        }
    })
}

/// Makes the session durable and wakes the daemon.
pub async fn admit(
    desk: &Desk,
    store: &Store,
    request: Request,
    origin: Origin,
) -> Result<Created> {
    let roster = Roster::new(
        &desk.config,
        Supervisor::default(),
        std::env::current_exe()?,
        desk.secrets.clone(),
    )?;
    let reception = Reception {
        config: &desk.config,
        roster: &roster,
        state: &desk.state,
        store,
        workflows: &desk.workflows(),
    };
    let created = reception.admit(request, origin).await?;
    wake::ring(&desk.state);
    Ok(created)
}

/// Says which session stands for the request, and whether anybody will work on it.
pub fn announce(desk: &Desk, created: &Created) -> Result<()> {
    let new = matches!(created, Created::New(_));
    if desk.global.json {
        output::print_json(&json!({"session_id": created.id(), "new": new}))?;
    } else {
        output::print_line(created.id())?;
    }
    if !new && !desk.global.quiet {
        eprintln!("ralphd: this request was submitted before, under the same idempotency key");
    }
    warn_without_daemon(desk);
    Ok(())
}

/// What is queued waits for a daemon; silence about its absence would be a trap.
pub fn warn_without_daemon(desk: &Desk) {
    if daemon::running_pid(&desk.state).is_none() && !desk.global.quiet {
        eprintln!(
            "ralphd: no daemon is running on {}; start one with 'ralphd serve'",
            desk.state.display()
        );
    }
}

/// Waits until a session has ended or waits for a person, then prints what came of it.
pub async fn wait_for(desk: &Desk, store: &Store, id: &str) -> Result<Exit> {
    let session = id.to_owned();
    let mut stands = look(store, &session).await?;
    if !is_settled(&stands) {
        let quiet = desk.global.quiet || desk.global.json;
        follow::follow(store, follow::Whose::Tree(session.clone()), 0, |news| {
            if let Some(line) = news.line().filter(|_| !quiet) {
                eprintln!("{line}");
            }
            Ok(match news.is_rest() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })
        .await?;
        stands = look(store, &session).await?;
    }
    conclude(desk, store, &stands).await
}

/// Prints the answer, or what stands in its place, and finds the exit code.
pub async fn conclude(desk: &Desk, store: &Store, session: &Session) -> Result<Exit> {
    if desk.global.json {
        output::print_json(session)?;
        return Ok(Exit::of_session(session));
    }
    let id = short(&session.id);
    match session.status {
        SessionState::Completed => {
            output::print_line(session.final_answer.as_deref().unwrap_or_default())?
        }
        SessionState::AwaitingHuman => {
            let asking = session.id.clone();
            let asked = store.read(move |sql| humans::waiting(sql, &asking)).await?;
            let question = asked.as_ref().map(|asked| asked.question.as_str());
            eprintln!(
                "ralphd: session {id} asks: {}",
                output::harmless_lines(question.unwrap_or_default())
            );
            for way in ways_to_answer(id, asked.as_ref()) {
                eprintln!("ralphd: {way}");
            }
        }
        SessionState::Cancelled => {
            eprintln!("ralphd: session {id} was cancelled; go on with 'ralphd continue {id}'");
        }
        status => {
            let detail = session
                .end_detail
                .as_deref()
                .unwrap_or("no reason was given");
            let reason = session.end_reason.map_or("", |reason| reason.as_str());
            eprintln!(
                "ralphd: session {id} {status} ({reason}): {}",
                output::harmless(detail)
            );
            eprintln!(
                "ralphd: go on with 'ralphd continue {id}', look closer with 'ralphd show {id}'"
            );
        }
    }
    Ok(Exit::of_session(session))
}

/// What a person can do about what is asked.
pub fn ways_to_answer(id: &str, asked: Option<&HumanRequest>) -> Vec<String> {
    match asked {
        Some(asked) if asked.kind == HumanKind::Gate => vec![
            format!("let it run with 'ralphd approve {id}'"),
            format!("or refuse it with 'ralphd reject {id} REASON'"),
        ],
        Some(asked) if !asked.options.is_empty() => vec![format!(
            "answer with 'ralphd answer {id} TEXT', or the number of an option"
        )],
        _ => vec![format!("answer with 'ralphd answer {id} TEXT'")],
    }
}

async fn look(store: &Store, id: &str) -> Result<Session> {
    let id = id.to_owned();
    store.read(move |sql| sessions::expect(sql, &id)).await
}

fn is_settled(session: &Session) -> bool {
    session.status.is_terminal() || session.status == SessionState::AwaitingHuman
}

/// Whoever gives words instead of a file is told how to give them.
fn not_taken(path: &Path, problem: Unreadable) -> Failure {
    let name = path.display();
    Failure(match problem {
        Unreadable::Missing => format!(
            "there is no file '{name}'; for an objective in words use 'ralphd run \"…\"' or 'ralphd submit --objective \"…\"'"
        ),
        problem => format!("cannot take {name}: {problem}"),
    })
}

/// The request of a file, of stdin, or of a plain objective; and the stem for its answer. Datasets are seen from the file, or from here.
pub fn read_request(
    desk: &Desk,
    file: Option<&Path>,
    objective: Option<String>,
) -> Result<(Request, Option<String>)> {
    let max_bytes = desk.config.inbox.max_bytes;
    match (file, objective) {
        (Some(path), _) if path == Path::new("-") => {
            Ok((seen(Path::new(""), parse(&from_stdin(max_bytes)?)?), None))
        }
        (Some(path), _) => {
            let bytes =
                read_regular(path, max_bytes).map_err(|problem| not_taken(path, problem))?;
            let text = String::from_utf8(bytes)
                .map_err(|_| Failure(format!("{} is not UTF-8", path.display())))?;
            let request = parse(&text).with_context(|| format!("{}", path.display()))?;
            let beside = path.parent().unwrap_or(Path::new(""));
            Ok((
                seen(beside, request),
                path.file_stem()
                    .map(|stem| stem.to_string_lossy().into_owned()),
            ))
        }
        (None, Some(words)) => {
            let objective = if words == "-" {
                from_stdin(max_bytes)?
            } else {
                words
            };
            Ok((
                Request {
                    objective: objective.trim().to_owned(),
                    ..Request::default()
                },
                None,
            ))
        }
        (None, None) if !std::io::stdin().is_terminal() => {
            Ok((seen(Path::new(""), parse(&from_stdin(max_bytes)?)?), None))
        }
        (None, None) => bail!(Failure(
            "say what is to be done: give an objective, a file, or - for stdin".to_owned()
        )),
    }
}

fn seen(from: &Path, request: Request) -> Request {
    Request {
        datasets: seen_from(from, request.datasets),
        workspace: request
            .workspace
            .map(|workspace| workspace_seen_from(from, workspace)),
        ..request
    }
}

pub fn from_stdin(max_bytes: u64) -> Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .context("cannot read stdin")?;
    if bytes.len() as u64 > max_bytes {
        bail!(Failure(format!("stdin holds more than {max_bytes} bytes")));
    }
    Ok(String::from_utf8(bytes).map_err(|_| Failure("stdin is not UTF-8".to_owned()))?)
}
