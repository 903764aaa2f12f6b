//! What starts by the clock: each schedule with its next runs and what came of the last, and forms to start, pause and resume it.

use super::form::Form;
use super::page::{Page, see_other};
use crate::api::Api;
use crate::api::call::Call;
use crate::api::problem::Problem;
use crate::api::reply::Reply;
use crate::api::route::Route;
use crate::api::sessions::admit;
use crate::clock::{clock_time, now_ms};
use crate::model::amount::duration;
use crate::model::harmless::{first_line, harmless};
use crate::model::schedule::{TickOutcome, written};
use crate::model::token::Scope;
use crate::store::driver::Sql;
use crate::store::schedules::{self, SettledTick};
use crate::trigger::cron::{self, Schedule};
use futures_util::future::BoxFuture;
use hyper::{Method, StatusCode};
use serde::Serialize;
use std::sync::Arc;

const NEXT_RUNS: usize = 3;

pub fn routes() -> Vec<Route> {
    vec![
        Route::page(Method::GET, "/schedules", |api, call| {
            Box::pin(list(api, call))
        })
        .needs(Scope::Read),
        Route::page(Method::POST, "/schedules/{name}/run", |api, call| {
            Box::pin(run(api, call))
        })
        .needs(Scope::Submit),
        Route::page(Method::POST, "/schedules/{name}/pause", |api, call| {
            set_paused(api, call, true)
        })
        .needs(Scope::Act),
        Route::page(Method::POST, "/schedules/{name}/resume", |api, call| {
            set_paused(api, call, false)
        })
        .needs(Scope::Act),
    ]
}

#[derive(Serialize)]
struct SchedulesView {
    schedules: Vec<Listed>,
}

#[derive(Serialize)]
struct Listed {
    name: String,
    cron: String,
    timezone: String,
    enabled: bool,
    paused: bool,
    next: Vec<Run>,
    last: Option<Last>,
}

#[derive(Serialize)]
struct Run {
    at: String,
    left: String,
}

#[derive(Serialize)]
struct Last {
    words: String,
    style: &'static str,
    session: Option<String>,
    detail: String,
}

async fn list(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let all = cron::all(&api.house.config)?;
    let read = move |sql: &mut dyn Sql| {
        let now_ms = now_ms();
        let listed = all.iter().map(|schedule| listed(sql, schedule, now_ms));
        listed.collect::<anyhow::Result<Vec<_>>>()
    };
    let page = Page {
        template: "schedules.html",
        title: "Schedules",
        menu: "schedules",
        view: SchedulesView {
            schedules: api.house.store.read(read).await?,
        },
    };
    api.page(&call, StatusCode::OK, &page)
}

fn listed(sql: &mut dyn Sql, schedule: &Schedule, now_ms: i64) -> anyhow::Result<Listed> {
    let stored = schedules::get(sql, &schedule.name)?;
    let paused = stored.is_some_and(|stored| stored.standing.paused);
    let calendar = &schedule.calendar;
    let moments = std::iter::successors(calendar.next_ms(now_ms), |last| calendar.next_ms(*last));
    let next = moments.take(NEXT_RUNS).map(|at_ms| Run {
        at: written(at_ms, calendar),
        left: duration(at_ms - now_ms),
    });
    Ok(Listed {
        name: harmless(&schedule.name),
        cron: harmless(&calendar.expression.to_string()),
        timezone: harmless(&schedule.zone_name),
        enabled: schedule.enabled,
        paused,
        next: match schedule.enabled && !paused {
            true => next.collect(),
            false => Vec::new(),
        },
        last: schedules::last_tick(sql, &schedule.name)?.map(|tick| last(&tick, now_ms)),
    })
}

fn last(tick: &SettledTick, now_ms: i64) -> Last {
    let style = match tick.outcome {
        TickOutcome::Started => "good",
        TickOutcome::Skipped => "dim",
        TickOutcome::Refused => "bad",
    };
    Last {
        words: format!("{} {}", tick.outcome, clock_time(tick.due_at_ms, now_ms)),
        style,
        session: tick.session_id.clone(),
        detail: first_line(tick.detail.as_deref().unwrap_or_default()),
    }
}

fn named(api: &Api, call: &Call) -> Result<Schedule, Problem> {
    let found = cron::named(&api.house.config, call.part())?;
    found.ok_or_else(|| {
        Problem::not_found(format!("there is no schedule '{}'", harmless(call.part())))
    })
}

async fn run(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    Form::of(&call)?;
    let schedule = named(&api, &call)?;
    let request = schedule.extra_request(api.house.config.inbox.max_bytes);
    // It may be in a file that is not there, or not readable.
    let (request, origin) = request.map_err(|error| Problem::unfit(format!("{error:#}")))?;
    let created = admit(&api, request, origin).await?;
    Ok(see_other(&format!("/sessions/{}", created.id())))
}

fn set_paused(
    api: Arc<Api>,
    call: Call,
    paused: bool,
) -> BoxFuture<'static, Result<Reply, Problem>> {
    Box::pin(async move {
        Form::of(&call)?;
        let name = named(&api, &call)?.name;
        let write = move |sql: &mut dyn Sql| schedules::set_paused(sql, &name, paused, now_ms());
        api.house.store.write(write).await?;
        Ok(see_other("/schedules"))
    })
}
