//! The page of one session: how it stands, what it asks, its plan, its iterations and what came of them. It only looks; `view` is what
//! is told of it, `iterations` its turns on a time line, `people` what it asks of them and what they can do.

mod iterations;
mod people;
mod view;

use super::page::{Page, is_live};
use crate::api::Api;
use crate::api::call::Call;
use crate::api::problem::Problem;
use crate::api::reply::Reply;
use crate::api::route::Route;
use crate::model::token::Scope;
use crate::store::sessions;
use hyper::{Method, StatusCode};
use std::sync::Arc;
use view::SessionView;

pub fn routes() -> Vec<Route> {
    vec![
        Route::page(Method::GET, "/sessions/{id}", |api, call| {
            Box::pin(session(api, call))
        })
        .needs(Scope::Read)
        .takes_query(&["before"]),
    ]
}

async fn session(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let before = call.number("before", 1..=i64::MAX)?;
    let given = call.part().to_owned();
    let store = api.house.store.clone();
    let resolve = store.read(move |sql| sessions::resolve(sql, &given));
    let id = resolve.await?;
    let agents = api.house.roster.names();
    let wanted = id.clone();
    let look = async || -> Result<SessionView, Problem> {
        let read = store.read(move |sql| SessionView::of(sql, &wanted, before, &agents));
        let mut view = read.await?;
        view.read_log().await;
        Ok(view)
    };
    if is_live(&call) {
        let of = format!("session {id} {before:?}");
        return api.live(&call, &of, "session.html", look).await;
    }
    let view = look().await?;
    let title = view.title.clone();
    let page = Page {
        template: "session.html",
        title: &title,
        menu: "sessions",
        view,
    };
    api.page(&call, StatusCode::OK, &page)
}
