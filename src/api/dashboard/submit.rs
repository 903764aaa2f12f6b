//! The form for a new request.

use super::fields::{self, Field};
use super::form::Form;
use super::page::{Page, see_other};
use crate::api::Api;
use crate::api::call::Call;
use crate::api::problem::Problem;
use crate::api::reply::Reply;
use crate::api::route::Route;
use crate::api::sessions::admit;
use crate::model::harmless::harmless_lines;
use crate::model::request::Request;
use crate::model::session::Trigger;
use crate::model::token::Scope;
use crate::trigger::intake::Origin;
use hyper::{Method, StatusCode};
use serde::Serialize;
use std::sync::Arc;

pub fn routes() -> Vec<Route> {
    vec![
        Route::page(Method::GET, "/new", |api, call| {
            Box::pin(async move {
                let fields = fields::all(&api.house.roster.names());
                show(&api, &call, StatusCode::OK, fields, Vec::new())
            })
        })
        .needs(Scope::Submit),
        Route::page(Method::POST, "/new", |api, call| {
            Box::pin(submit(api, call))
        })
        .needs(Scope::Submit),
    ]
}

#[derive(Serialize)]
struct NewView {
    default_agent: String,
    fields: Vec<Field>,
    problems: Vec<String>,
}

fn show(
    api: &Api,
    call: &Call,
    status: StatusCode,
    fields: Vec<Field>,
    problems: Vec<String>,
) -> Result<Reply, Problem> {
    let page = Page {
        template: "new.html",
        title: "New request",
        menu: "new",
        view: NewView {
            default_agent: api.house.roster.default_name().to_owned(),
            fields,
            problems,
        },
    };
    api.page(call, status, &page)
}

async fn submit(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let form = Form::of(&call)?;
    let fields = fields::filled(fields::all(&api.house.roster.names()), &form);
    let request = Request::from_json(&fields::request(&fields).to_string());
    let created = match request {
        Ok(request) => admit(&api, request, Origin::new(Trigger::Api)).await,
        Err(problems) => Err(problems.into()),
    };
    match created {
        Ok(created) => Ok(see_other(&format!("/sessions/{}", created.id()))),
        // What was written is worth more than the page: it is shown again, with what is wrong.
        Err(problem) if problem.status.is_client_error() => {
            let lines = problem
                .lines()
                .iter()
                .map(|line| harmless_lines(line))
                .collect();
            show(&api, &call, problem.status, fields, lines)
        }
        Err(problem) => Err(problem),
    }
}
