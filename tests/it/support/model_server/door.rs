//! HTTP: takes a request, finds its dialect by its path, sends the answer as events or as one document.

use super::play::{self, Asked, Reply};
use super::script::{Answer, Break, How, Play, Request};
use super::{Cast, Exchange, Log, Part, Tokens, anthropic, chat, gemini, responses};
use http_body_util::channel::Channel;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

type Body = Either<Full<Bytes>, Channel<Bytes, io::Error>>;

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
pub async fn answer_all(listener: TcpListener, cast: Arc<Cast>, log: Arc<Mutex<Log>>) {
    while let Ok((stream, _)) = listener.accept().await {
        // Many small pieces, each sent at once, as the servers of models do.
        let _ = stream.set_nodelay(true);
        let (cast, log) = (cast.clone(), log.clone());
        tokio::spawn(async move {
            log.lock().unwrap().open_connections += 1;
            let service = service_fn(|request| answer(request, &cast, &log));
            let connection = hyper::server::conn::http1::Builder::new();
            // A caller that is ended in the middle of an answer is no fault of the server.
            let _ = connection
                .serve_connection(TokioIo::new(stream), service)
                .await;
            log.lock().unwrap().open_connections -= 1;
        });
    }
}

async fn answer(
    request: hyper::Request<Incoming>,
    cast: &Cast,
    log: &Mutex<Log>,
) -> Result<Response<Body>, Infallible> {
    let method = request.method().to_string();
    let request = read(request).await;
    let asked_for = format!("{method} {}", request.path);
    let found = dialect(&request.path).filter(|_| request.body.is_object());
    let Some(dialect) = found else {
        log.lock()
            .unwrap()
            .note(Exchange::unknown(asked_for), request);
        return Ok(refusal());
    };
    let mut asked = (dialect.read)(&request.path, &request.body);
    let (play, tokens) = {
        let mut log = log.lock().unwrap();
        asked.number = log.exchanges.len() + 1;
        let (part, play) = chosen(cast, &asked, &request, &log);
        let tokens = log.tokens_of(&play, dialect);
        let exchange = Exchange {
            asked: asked_for,
            model: asked.model.clone(),
            iteration: asked.iteration(),
            part,
            tokens,
        };
        log.note(exchange, request);
        (play, tokens)
    };
    Ok(performed(play, dialect, &asked, tokens))
}

async fn read(request: hyper::Request<Incoming>) -> Request {
    let path = request.uri().path().to_owned();
    let text =
        |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = request
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), text(value)))
        .collect();
    let body = request.into_body().collect().await;
    let bytes = body.map(|body| body.to_bytes()).unwrap_or_default();
    Request {
        path,
        headers,
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
    }
}

fn chosen(cast: &Cast, asked: &Asked, request: &Request, log: &Log) -> (Part, Play) {
    match cast {
        Cast::Scenes(scenes) => {
            let (part, reply) = play::answer(asked, scenes);
            let answer = Answer {
                reply,
                ..Answer::default()
            };
            (part, Play::Answer(answer))
        }
        Cast::Script(choose) => (Part::Scripted, choose(log.scripted() + 1, request)),
    }
}

impl Log {
    fn scripted(&self) -> usize {
        let is_scripted = |one: &&Exchange| one.part == Part::Scripted;
        self.exchanges.iter().filter(is_scripted).count()
    }

    /// What a play is said to cost: nothing where no model answers.
    fn tokens_of(&self, play: &Play, dialect: &Dialect) -> Tokens {
        match play {
            Play::Answer(answer) if !answer.hides_usage => answer
                .tokens
                .unwrap_or_else(|| (dialect.tokens)(Tokens::of(self.exchanges.len() as u64 + 1))),
            Play::Answer(_) | Play::Document { .. } => Tokens::default(),
        }
    }

    /// Writes an exchange down, before anything of it is sent.
    fn note(&mut self, exchange: Exchange, request: Request) {
        self.exchanges.push(exchange);
        self.requests.push(request);
    }
}

impl Exchange {
    fn unknown(asked: String) -> Self {
        Self {
            asked,
            model: String::new(),
            iteration: None,
            part: Part::Unknown,
            tokens: Tokens::default(),
        }
    }
}

fn performed(play: Play, dialect: &Dialect, asked: &Asked, tokens: Tokens) -> Response<Body> {
    match play {
        Play::Answer(answer) if asked.streamed && !answer.is_document => stream(
            (dialect.events)(asked, &answer.reply, tokens),
            answer.breaks,
        ),
        Play::Answer(answer) => {
            let document = (dialect.document)(asked, &answer.reply, tokens);
            whole(StatusCode::OK, document.to_string())
        }
        Play::Document {
            status,
            headers,
            body,
        } => {
            let mut response = whole(StatusCode::from_u16(status).unwrap(), body);
            for (name, value) in headers {
                let name: hyper::header::HeaderName = name.parse().unwrap();
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            response
        }
    }
}

fn stream(events: Vec<String>, breaks: Option<Break>) -> Response<Body> {
    let (mut sender, body) = Channel::new(1);
    tokio::spawn(async move {
        for (number, event) in events.into_iter().enumerate() {
            let due = breaks.as_ref().filter(|broken| broken.after == number);
            match due.map(|broken| &broken.how) {
                None => {}
                Some(How::End) => return,
                Some(How::Cut) => {
                    // The event before this one has to be taken before the connection breaks.
                    let _ = sender.send_data(Bytes::new()).await;
                    sender.abort(io::Error::other("cut by the script"));
                    return;
                }
                Some(How::Silence) => return std::future::pending().await,
                Some(How::Event(extra)) => {
                    // A caller that is gone is seen at the next event.
                    let _ = sender.send_data(Bytes::from(extra.clone())).await;
                }
            }
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

fn whole(status: StatusCode, body: String) -> Response<Body> {
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/json")
        .body(Either::Left(Full::from(body)))
        .unwrap()
}

fn refusal() -> Response<Body> {
    let error = json!({ "error": { "type": "not_found_error", "message": "no such thing here" } });
    whole(StatusCode::NOT_FOUND, error.to_string())
}
