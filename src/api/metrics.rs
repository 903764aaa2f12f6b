//! The daemon in numbers, for Prometheus.

use super::Api;
use super::problem::Problem;
use super::reply::Reply;
use super::route::Route;
use crate::model::token::Scope;
use crate::report::metrics::CONTENT_TYPE;
use http_body_util::Full;
use hyper::{Method, StatusCode};
use std::sync::Arc;

pub fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/metrics",
            "metrics",
            "The daemon in numbers, in the text format of Prometheus.",
            |api, _| Box::pin(metrics(api)),
        )
        .needs(Scope::Read)
        .answers_text("text/plain", "The numbers of this moment."),
    ]
}

async fn metrics(api: Arc<Api>) -> Result<Reply, Problem> {
    let mut page = api.metrics.page(&api.house).await?;
    api.calls.write(&mut page);
    let text = page.into_text();
    let body = Full::new(text.into());
    Ok(Reply::of(StatusCode::OK, CONTENT_TYPE, body))
}
