//! HTTP: takes a request, finds its dialect by its path, sends the answer as events or as one document.

use super::play::{self, Asked, Reply, Scene};
use super::{Exchange, Part, Tokens, anthropic, chat, gemini, responses};
use http_body_util::channel::Channel;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

type Body = Either<Full<Bytes>, Channel<Bytes>>;
type Log = Arc<Mutex<Vec<Exchange>>>;

/// A language that tools speak with models.
pub struct Dialect {
    pub read: fn(path: &str, body: &Json) -> Asked,
    /// What it says of tokens that it has no word for.
    pub tokens: fn(Tokens) -> Tokens,
    pub events: fn(&Asked, &Reply, Tokens) -> Vec<String>,
    pub document: fn(&Asked, &Reply, Tokens) -> Json,
}

fn dialect(path: &str) -> Option<&'static Dialect> {
    match path {
        path if path.ends_with("/messages") => Some(&anthropic::DIALECT),
        path if path.ends_with("/responses") => Some(&responses::DIALECT),
        path if path.ends_with("/chat/completions") => Some(&chat::DIALECT),
        path if path.ends_with("enerateContent") => Some(&gemini::DIALECT),
        _ => None,
    }
}

/// Serves every connection for as long as the runtime lives.
pub async fn answer_all(listener: TcpListener, scenes: &'static [Scene], log: Log) {
    while let Ok((stream, _)) = listener.accept().await {
        let log = log.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, scenes, log.clone()));
            let connection = hyper::server::conn::http1::Builder::new();
            // A caller that is ended in the middle of an answer is no fault of the server.
            let _ = connection
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    scenes: &'static [Scene],
    log: Log,
) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path().to_owned();
    let asked_for = format!("{} {path}", request.method());
    let body = request.into_body().collect().await;
    let bytes = body.map(|body| body.to_bytes()).unwrap_or_default();
    let body: Json = serde_json::from_slice(&bytes).unwrap_or_default();
    let Some(dialect) = dialect(&path).filter(|_| body.is_object()) else {
        note(&log, |_| Exchange {
            asked: asked_for,
            model: String::new(),
            iteration: None,
            part: Part::Unknown,
            tokens: Tokens::default(),
        });
        return Ok(refusal());
    };
    let asked = (dialect.read)(&path, &body);
    let (part, reply) = play::answer(&asked, scenes);
    let tokens = note(&log, |number| Exchange {
        asked: asked_for,
        model: asked.model.clone(),
        iteration: asked.iteration(),
        part,
        tokens: (dialect.tokens)(Tokens::of(number)),
    });
    Ok(match asked.streamed {
        true => stream((dialect.events)(&asked, &reply, tokens)),
        false => document(StatusCode::OK, &(dialect.document)(&asked, &reply, tokens)),
    })
}

/// Writes an exchange down under its number, before anything of it is sent.
fn note(log: &Log, exchange: impl FnOnce(u64) -> Exchange) -> Tokens {
    let mut log = log.lock().unwrap();
    let exchange = exchange(log.len() as u64 + 1);
    let tokens = exchange.tokens;
    log.push(exchange);
    tokens
}

fn stream(events: Vec<String>) -> Response<Body> {
    let (mut sender, body) = Channel::new(1);
    tokio::spawn(async move {
        for event in events {
            if sender.send_data(Bytes::from(event)).await.is_err() {
                return;
            }
        }
    });
    Response::builder()
        .header(CONTENT_TYPE, "text/event-stream")
        .body(Either::Right(body))
        .unwrap()
}

fn document(status: StatusCode, value: &Json) -> Response<Body> {
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/json")
        .body(Either::Left(Full::from(value.to_string())))
        .unwrap()
}

fn refusal() -> Response<Body> {
    let error = json!({ "error": { "type": "not_found_error", "message": "no such thing here" } });
    document(StatusCode::NOT_FOUND, &error)
}
