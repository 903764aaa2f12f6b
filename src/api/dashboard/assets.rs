//! The style and the script of the pages: files of this program, from nowhere else.

use crate::api::reply::Reply;
use crate::api::route::Route;
use http_body_util::Full;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{Method, StatusCode};

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");
const ICON: &str = include_str!("html/icon.svg");

pub fn routes() -> Vec<Route> {
    vec![
        Route::page(Method::GET, "/assets/style.css", |_, _| {
            Box::pin(async { Ok(asset("text/css; charset=utf-8", STYLE)) })
        }),
        Route::page(Method::GET, "/assets/script.js", |_, _| {
            Box::pin(async { Ok(asset("text/javascript; charset=utf-8", SCRIPT)) })
        }),
        Route::page(Method::GET, "/assets/icon.svg", |_, _| {
            Box::pin(async { Ok(asset("image/svg+xml", ICON)) })
        }),
    ]
}

fn asset(kind: &'static str, text: &'static str) -> Reply {
    // Asked for again after an hour: a newer daemon may have another one.
    let kept = HeaderValue::from_static("private, max-age=3600");
    Reply::of(StatusCode::OK, kind, Full::new(text.into())).with(CACHE_CONTROL, kept)
}
