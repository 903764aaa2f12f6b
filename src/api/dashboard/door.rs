//! Logging in and out. A browser keeps the token itself, in a cookie; nothing is kept here.

use super::form::Form;
use super::page::{Page, see_other, set_cookie};
use crate::api::Api;
use crate::api::auth::TOKEN_COOKIE;
use crate::api::call::Call;
use crate::api::problem::Problem;
use crate::api::reply::Reply;
use crate::api::route::Route;
use crate::model::token::Scope;
use hyper::header::SET_COOKIE;
use hyper::{Method, StatusCode};
use serde::Serialize;
use std::sync::Arc;

/// A browser forgets after this; the token itself may end earlier.
const REMEMBERED_SECONDS: u64 = 30 * 86_400;
const MAX_TOKEN_BYTES: usize = 200;

pub fn routes() -> Vec<Route> {
    vec![
        Route::page(Method::GET, "/login", |api, call| {
            Box::pin(async move { door(&api, &call) })
        })
        .takes_query(&["next"]),
        Route::page(Method::POST, "/login", |api, call| {
            Box::pin(log_in(api, call))
        }),
        Route::page(Method::POST, "/logout", |_, call| {
            Box::pin(async move { log_out(&call) })
        }),
    ]
}

#[derive(Serialize)]
struct DoorView {
    next: String,
    refused: Option<String>,
}

fn door(api: &Api, call: &Call) -> Result<Reply, Problem> {
    let next = own_place(call.text("next").unwrap_or("/"));
    if !api.gate.is_guarded() {
        return Ok(see_other(&next));
    }
    show(api, call, StatusCode::OK, next, None)
}

fn show(
    api: &Api,
    call: &Call,
    status: StatusCode,
    next: String,
    refused: Option<String>,
) -> Result<Reply, Problem> {
    let page = Page {
        template: "login.html",
        title: "Log in",
        menu: "",
        view: DoorView { next, refused },
    };
    api.page(call, status, &page)
}

async fn log_in(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let form = Form::of(&call)?;
    let next = own_place(&form.text("next").unwrap_or_default());
    let token = form.text("token").unwrap_or_default();
    let plain = token
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !plain || token.len() > MAX_TOKEN_BYTES {
        let refused = Some("this is no token of ralphd".to_owned());
        return show(&api, &call, StatusCode::UNAUTHORIZED, next, refused);
    }
    match api.gate.recognise(&token, Scope::Read).await {
        Ok(_) => {
            let cookie = set_cookie(&call, TOKEN_COOKIE, &token, Some(REMEMBERED_SECONDS))?;
            Ok(see_other(&next).with(SET_COOKIE, cookie))
        }
        Err(problem) => show(&api, &call, problem.status, next, Some(problem.detail)),
    }
}

fn log_out(call: &Call) -> Result<Reply, Problem> {
    Form::of(call)?;

    let forget = set_cookie(call, TOKEN_COOKIE, "", Some(0))?;
    Ok(see_other("/login").with(SET_COOKIE, forget))
}

/// Only a place of this site: a link to the door must not lead out of the house.
fn own_place(wanted: &str) -> String {
    let plain = wanted
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let own = wanted.starts_with('/') && !wanted.starts_with("//");
    match plain && own && !wanted.starts_with("/login") {
        true => wanted.to_owned(),
        false => "/".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_out_of_the_house() {
        for (wanted, place) in [
            ("/", "/"),
            ("/sessions/0199?iteration=2", "/sessions/0199?iteration=2"),
            ("//evil.example", "/"),
            ("https://evil.example", "/"),
            ("/\\evil.example", "/"),
            ("/a\r\nset-cookie: x=1", "/"),
            ("/login?next=/login", "/"),
            ("", "/"),
        ] {
            assert_eq!(own_place(wanted), place, "{wanted}");
        }
    }
}
