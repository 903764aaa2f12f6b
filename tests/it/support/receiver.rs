//! Somebody who is told: real HTTP on the loopback. It writes down what comes, and answers as the test wants.

use http_body_util::{BodyExt, Full};
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// A request as it came over the wire.
#[derive(Clone, Debug)]
pub struct Received {
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// What it was answered.
    pub status: u16,
}

impl Received {
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap()
    }

    pub fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }
}

/// What a request gets: a status and further headers.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
}

impl From<u16> for Reply {
    fn from(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
        }
    }
}

type Choose = Box<dyn Fn(usize, &Received) -> Reply + Send + Sync>;

/// Answers until it is dropped.
pub struct Receiver {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Received>>>,
    _runtime: Runtime,
}

impl Receiver {
    /// Takes everything.
    pub fn start() -> Self {
        Self::answering(|_, _| 204.into())
    }

    /// Each request gets what `choose` makes of its number, from 1, and of the request itself.
    pub fn answering(choose: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let choose: Arc<Choose> = Arc::new(Box::new(choose));
        runtime.spawn(serve(listener, choose, log.clone()));
        Self {
            address,
            log,
            _runtime: runtime,
        }
    }

    /// An address of it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All that came so far.
    pub fn received(&self) -> Vec<Received> {
        self.log.lock().unwrap().clone()
    }

    /// What it has said yes to.
    pub fn accepted(&self) -> Vec<Received> {
        let mut all = self.received();
        all.retain(|received| received.status < 300);
        all
    }
}

async fn serve(listener: TcpListener, choose: Arc<Choose>, log: Arc<Mutex<Vec<Received>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (choose, log) = (choose.clone(), log.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, &choose, &log));
            let connection = hyper::server::conn::http1::Builder::new();
            let _ = connection
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    request: hyper::Request<Incoming>,
    choose: &Choose,
    log: &Mutex<Vec<Received>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let headers = request.headers().iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.to_string(), value)
    });
    let headers = headers.collect();
    let body = request.into_body().collect().await;
    let bytes = body.map(|body| body.to_bytes()).unwrap_or_default();
    let mut received = Received {
        path,
        headers,
        body: String::from_utf8_lossy(&bytes).into_owned(),
        status: 0,
    };
    let reply = {
        let mut log = log.lock().unwrap();
        let reply = choose(log.len() + 1, &received);
        received.status = reply.status;
        log.push(received);
        reply
    };
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    Ok(response.body(Full::from("as the test wants")).unwrap())
}
