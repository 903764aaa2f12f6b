//! Who can work here, what each is busy with, and until when a limit shuts it out. It only looks.

use super::page::Page;
use crate::api::Api;
use crate::api::call::Call;
use crate::api::problem::Problem;
use crate::api::reply::Reply;
use crate::api::route::Route;
use crate::clock::{local_time, now_ms};
use crate::model::amount::{duration, money};
use crate::model::harmless::harmless;
use crate::model::token::Scope;
use crate::store::driver::Sql;
use crate::store::review::{self, Cost, Span};
use crate::store::{census, iterations};
use hyper::{Method, StatusCode};
use serde::Serialize;
use std::sync::Arc;

const DAY_MS: i64 = 86_400_000;

pub fn routes() -> Vec<Route> {
    vec![
        Route::page(Method::GET, "/agents", |api, call| {
            Box::pin(agents(api, call))
        })
        .needs(Scope::Read),
    ]
}

#[derive(Serialize)]
struct AgentsView {
    agents: Vec<Listed>,
    running: i64,
    ready: i64,
    parked: i64,
}

#[derive(Serialize)]
struct Listed {
    name: String,
    default: bool,
    command: String,
    fallback: String,
    /// Until when a limit shuts it out.
    parked: Option<Parked>,
    iterations: i64,
    cost: Option<String>,
}

#[derive(Serialize)]
struct Parked {
    until: String,
    left: String,
    why: String,
}

async fn agents(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let now_ms = now_ms();
    let span = Span {
        since_ms: now_ms - DAY_MS,
        until_ms: now_ms,
    };
    let read = move |sql: &mut dyn Sql| {
        Ok((
            iterations::limited(sql, now_ms)?,
            review::costs(sql, span)?,
            census::queue(sql)?,
        ))
    };
    let (limited, costs, queue) = api.house.store.read(read).await?;
    let roster = &api.house.roster;
    let listed = roster.members().map(|member| {
        let limits = limited.iter().filter(|(agent, _)| *agent == member.name);
        let limit = limits
            .map(|(_, limit)| limit)
            .max_by_key(|limit| limit.until_ms);
        let cost: Option<&Cost> = costs.iter().find(|cost| cost.agent == member.name);
        Listed {
            name: harmless(&member.name),
            default: member.name == roster.default_name(),
            command: harmless(&member.command.join(" ")),
            fallback: harmless(&member.fallback.join(", ")),
            parked: limit.map(|limit| Parked {
                until: local_time(limit.until_ms),
                left: duration(limit.until_ms - now_ms),
                why: limit.class.as_str().replace('_', " "),
            }),
            iterations: cost.map_or(0, |cost| cost.iterations),
            cost: cost
                .filter(|cost| cost.cost_usd > 0.0)
                .map(|cost| money(cost.cost_usd)),
        }
    });
    let page = Page {
        template: "agents.html",
        title: "Agents",
        menu: "agents",
        view: AgentsView {
            agents: listed.collect(),
            running: queue.running,
            ready: queue.ready,
            parked: queue.parked,
        },
    };
    api.page(&call, StatusCode::OK, &page)
}
