//! What one iteration changed, as the difference between its point and the one before. It only looks.

use super::page::Page;
use crate::api::Api;
use crate::api::call::Call;
use crate::api::problem::Problem;
use crate::api::reply::Reply;
use crate::api::route::Route;
use crate::engine::ground;
use crate::model::harmless::harmless_lines;
use crate::model::token::Scope;
use crate::store::driver::Sql;
use crate::store::{restore_points, sessions};
use crate::workspace::git::{self, Form};
use hyper::{Method, StatusCode};
use serde::Serialize;
use std::sync::Arc;

/// A larger difference is looked at with `ralphd diff`.
const MAX_BYTES: usize = 512 * 1024;
const MAX_LINES: usize = 5_000;
const MAX_LINE_CHARS: usize = 2_000;

pub fn routes() -> Vec<Route> {
    vec![
        Route::page(Method::GET, "/sessions/{id}/changes", |api, call| {
            Box::pin(changes(api, call))
        })
        .needs(Scope::Read)
        .takes_query(&["iteration"]),
    ]
}

#[derive(Serialize)]
struct ChangesView {
    id: String,
    iteration: i64,
    lines: Vec<(&'static str, String)>,
    cut: bool,
}

async fn changes(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let number = call.number("iteration", 1..=i64::MAX)?;
    let given = call.part().to_owned();
    let find = move |sql: &mut dyn Sql| {
        let id = sessions::resolve(sql, &given)?;
        let after = restore_points::find(sql, &id, number)?;
        let before = restore_points::find(sql, &id, after.after_number.or(Some(0)))?;
        Ok((sessions::expect(sql, &id)?, before, after))
    };
    let house = &api.house;
    let (session, before, after) = house.store.read(find).await?;
    let left = ground::of_point(&house.git, &house.state, &session, &before).await;
    let right = ground::of_point(&house.git, &house.state, &session, &after).await;
    let (left, right) = (left.map_err(gone)?, right.map_err(gone)?);
    let sides = (
        (&left, before.commit_id.as_str()),
        (&right, after.commit_id.as_str()),
    );
    let text = git::diff(sides.0, sides.1, Form::Patch, false, MAX_BYTES).await?;
    let text = house
        .secrets
        .mask()
        .text(&String::from_utf8_lossy(&text))
        .into_owned();
    let lines: Vec<(&'static str, String)> = text.lines().take(MAX_LINES).map(line).collect();
    let title = format!("Changes of iteration {}", after.number);
    let page = Page {
        template: "changes.html",
        title: &title,
        menu: "sessions",
        view: ChangesView {
            id: session.id,
            iteration: after.number,
            cut: text.lines().nth(MAX_LINES).is_some(),
            lines,
        },
    };
    api.page(&call, StatusCode::OK, &page)
}

/// A workspace may be removed and its session stay.
fn gone(error: anyhow::Error) -> Problem {
    Problem::not_found(format!("the changes cannot be told: {error:#}"))
}

/// A line, and what kind of line it is.
fn line(text: &str) -> (&'static str, String) {
    let kind = match text.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "file",
        [b'+', ..] => "added",
        [b'-', ..] => "removed",
        [b'@', b'@', ..] => "place",
        [b'd', b'i', b'f', b'f', ..] => "file",
        _ => "same",
    };
    let short: String = text.chars().take(MAX_LINE_CHARS).collect();
    (kind, harmless_lines(&short))
}
