//! The output of iterations, as text: its end on the session's page, what comes after that as long as it grows, and older parts on
//! pages of their own. However long a log or a line of it is, only a piece is ever read.

use super::page::Page;
use crate::api::Api;
use crate::api::call::Call;
use crate::api::problem::Problem;
use crate::api::reply::Reply;
use crate::api::route::Route;
use crate::model::amount::size;
use crate::model::harmless::{harmless_lines, whole_characters};
use crate::model::token::Scope;
use crate::store::iterations::{self, Iteration};
use crate::store::sessions;
use anyhow::{Context, Result};
use hyper::{Method, StatusCode};
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is shown of a log at once.
const PIECE_BYTES: u64 = 32 * 1024;

pub fn routes() -> Vec<Route> {
    vec![
        Route::page(Method::GET, "/sessions/{id}/log", |api, call| {
            Box::pin(older(api, call))
        })
        .needs(Scope::Read)
        .takes_query(&["iteration", "before"]),
        Route::page(Method::GET, "/sessions/{id}/tail", |api, call| {
            Box::pin(newer(api, call))
        })
        .needs(Scope::Read)
        .takes_query(&["iteration", "after"]),
    ]
}

/// A piece of an iteration's log.
#[derive(Debug, Serialize)]
pub struct Piece {
    iteration: i64,
    text: String,
    /// Where in the file it begins and ends.
    start: u64,
    end: u64,
    size: String,
    /// More may come.
    grows: bool,
}

/// The end of an iteration's log; nothing where it has none yet.
pub async fn tail(of: &Iteration) -> Option<Piece> {
    piece(of, None, None).await.ok().flatten()
}

/// What lies between two places of a log, at most a piece: at its end where `before` is given or nothing is, else after `after`.
async fn piece(of: &Iteration, before: Option<u64>, after: Option<u64>) -> Result<Option<Piece>> {
    let (path, iteration) = (PathBuf::from(&of.output_file), of.number);
    let grows = of.ended_at_ms.is_none();
    let read = move || -> Result<Option<Piece>> {
        let (bytes, start, whole) = match read_piece(&path, before, after)? {
            Some(piece) => piece,
            // The row of an iteration comes before its output.
            None if grows => (Vec::new(), 0, 0),
            None => return Ok(None),
        };
        let end = start + bytes.len() as u64;
        let mut bytes = bytes;
        // In the middle of a file it may begin within a character, and end within one that is not all there yet.
        let skipped = match start {
            0 => 0,
            _ => bytes
                .iter()
                .take(3)
                .take_while(|byte| (**byte & 0xc0) == 0x80)
                .count(),
        };
        bytes.drain(..skipped);
        let text = whole_characters(&mut bytes);
        let kept_back = if grows || end < whole {
            bytes.len() as u64
        } else {
            0
        };
        Ok(Some(Piece {
            iteration,
            text: harmless_lines(&text),
            start: start + skipped as u64,
            end: end - kept_back,
            size: size(whole),
            grows,
        }))
    };
    tokio::task::spawn_blocking(read)
        .await
        .context("reading a log was given up")?
}

fn read_piece(
    path: &Path,
    before: Option<u64>,
    after: Option<u64>,
) -> Result<Option<(Vec<u8>, u64, u64)>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let whole = file.metadata()?.len();
    let end = before.unwrap_or(whole).min(whole);
    let (start, length) = match after {
        Some(after) => (after.min(whole), PIECE_BYTES),
        None => {
            let start = end.saturating_sub(PIECE_BYTES);
            (start, end - start)
        }
    };
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(Some((bytes, start, whole)))
}

/// The iteration that a call names, or the newest.
async fn iteration_of(api: &Api, call: &Call) -> Result<(String, Iteration), Problem> {
    let number = call.number("iteration", 1..=i64::MAX)?;
    let given = call.part().to_owned();
    let read = api.house.store.read(move |sql| {
        let id = sessions::resolve(sql, &given)?;
        let found = match number {
            None => iterations::last(sql, &id)?,
            Some(number) => {
                let mut found = iterations::after(sql, &id, number - 1, 1)?;
                found.retain(|turn| turn.number == number);
                found.pop()
            }
        };
        Ok((id, found))
    });
    let (id, found) = read.await?;
    found.map(|found| (id.clone(), found)).ok_or_else(|| {
        let which = number.map_or("yet".to_owned(), |number| number.to_string());
        Problem::not_found(format!("session {id} has no iteration {which}"))
    })
}

#[derive(Serialize)]
struct LogView {
    id: String,
    iteration: i64,
    piece: Option<Piece>,
}

async fn older(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let before = call.number("before", 0..=i64::MAX)?.map(i64::unsigned_abs);
    let (id, found) = iteration_of(&api, &call).await?;
    let view = LogView {
        id,
        iteration: found.number,
        piece: piece(&found, before, None).await?,
    };
    let title = format!("Log of iteration {}", view.iteration);
    let page = Page {
        template: "log.html",
        title: &title,
        menu: "sessions",
        view,
    };
    api.page(&call, StatusCode::OK, &page)
}

/// What has come since, for the script of an open page; nothing new is an empty text.
async fn newer(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let after = call
        .number("after", 0..=i64::MAX)?
        .unwrap_or(0)
        .unsigned_abs();
    let (_, found) = iteration_of(&api, &call).await?;
    Ok(Reply::ok(&piece(&found, None, Some(after)).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        assert!(read_piece(&path, None, None).unwrap().is_none());
        let whole: Vec<u8> = (0..100_000u32)
            .map(|place| b'a' + (place % 26) as u8)
            .collect();
        std::fs::write(&path, &whole).unwrap();
        for (before, after, start, end) in [
            (None, None, 100_000 - 32_768, 100_000),
            (Some(50_000), None, 50_000 - 32_768, 50_000),
            (Some(100), None, 0, 100),
            (Some(999_999), None, 100_000 - 32_768, 100_000),
            (None, Some(99_990), 99_990, 100_000),
            (None, Some(0), 0, 32_768),
            (None, Some(500_000), 100_000, 100_000),
        ] {
            let (bytes, from, size) = read_piece(&path, before, after).unwrap().unwrap();
            assert_eq!((from, size), (start, 100_000));
            assert_eq!(bytes, whole[start as usize..end as usize]);
        }
    }
}
