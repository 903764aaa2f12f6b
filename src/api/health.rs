//! Whether ralphd is there (`/healthz`) and whether it can take work (`/readyz`). They tell nothing of the work itself.

use super::Api;
use super::problem::Problem;
use super::reply::Reply;
use super::route::Route;
use hyper::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

#[derive(Serialize, JsonSchema)]
struct Health {
    status: &'static str,
    version: &'static str,
}

const WELL: Health = Health {
    status: "ok",
    version: env!("CARGO_PKG_VERSION"),
};

pub fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/healthz",
            "health",
            "Whether the daemon is there.",
            |_, _| Box::pin(async { Ok(Reply::ok(&WELL)) }),
        )
        .answers::<Health>(StatusCode::OK, "It is."),
        Route::new(
            Method::GET,
            "/readyz",
            "ready",
            "Whether the daemon can take work.",
            |api, _| Box::pin(ready(api)),
        )
        .answers::<Health>(StatusCode::OK, "It can."),
    ]
}

async fn ready(api: Arc<Api>) -> Result<Reply, Problem> {
    if *api.shutdown.borrow() {
        let detail = "the daemon goes down";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail));
    }
    // The writer answers only when it can begin and commit.
    api.house.store.write_quietly(|_| Ok(())).await?;
    Ok(Reply::ok(&WELL))
}
