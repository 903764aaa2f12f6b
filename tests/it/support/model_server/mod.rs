//! A model's API on the loopback: real HTTP, real server-sent events, a played model. It counts what it told each caller,
//! so that a test can compare. It must not know which tool asks: only the dialects differ.

mod anthropic;
mod chat;
mod door;
mod gemini;
mod play;
mod responses;
mod script;
mod tokens;

pub use play::{Part, Scene};
pub use script::{Play, Request};
pub use tokens::{Prices, Tokens};

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::runtime::{Builder, Runtime};

/// One request, and what it was told that it cost.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Method and path.
    pub asked: String,
    pub model: String,
    /// The iteration whose prompt stood in it.
    pub iteration: Option<usize>,
    pub part: Part,
    pub tokens: Tokens,
}

/// What a request gets, by its number, from 1, and by itself.
type Choose = Box<dyn Fn(usize, &Request) -> Play + Send + Sync>;

/// Who decides what the model says.
enum Cast {
    Scenes(&'static [Scene]),
    Script(Choose),
}

/// All that was asked: one entry a request in both, in their order.
#[derive(Default)]
struct Log {
    exchanges: Vec<Exchange>,
    requests: Vec<Request>,
    open_connections: usize,
}

/// Answers until it is dropped.
pub struct ModelServer {
    address: SocketAddr,
    log: Arc<Mutex<Log>>,
    _runtime: Runtime,
}

impl ModelServer {
    /// Listens on a free port of the calling thread's network; the n-th iteration plays the n-th scene.
    pub fn start(scenes: &'static [Scene]) -> Self {
        Self::with(Cast::Scenes(scenes))
    }

    /// The n-th request for an answer gets the n-th play; past the last one all are refused, so that a test sees it.
    pub fn scripted(plays: Vec<Play>) -> Self {
        Self::answering(move |number, _| {
            let play = plays.get(number - 1).cloned();
            play.unwrap_or_else(|| {
                Play::refuse(400, "script_over", "the test's script has no more plays")
            })
        })
    }

    /// Each request for an answer gets what `choose` makes of its number, from 1, and of the request itself.
    pub fn answering(choose: impl Fn(usize, &Request) -> Play + Send + Sync + 'static) -> Self {
        Self::with(Cast::Script(Box::new(choose)))
    }

    fn with(cast: Cast) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Log::default()));
        runtime.spawn(door::answer_all(listener, Arc::new(cast), log.clone()));
        Self {
            address,
            log,
            _runtime: runtime,
        }
    }

    /// Where it is, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All that was asked so far.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.log.lock().unwrap().exchanges.clone()
    }

    /// The same requests as they came over the wire: path, headers, body.
    pub fn requests(&self) -> Vec<Request> {
        self.log.lock().unwrap().requests.clone()
    }

    /// Connections that nobody has closed yet.
    pub fn open_connections(&self) -> usize {
        self.log.lock().unwrap().open_connections
    }

    /// What one iteration was told, of the work itself and of the tool's side requests that quote its prompt.
    pub fn told(&self, iteration: usize) -> Vec<Exchange> {
        let of_iteration = |exchange: &Exchange| exchange.iteration == Some(iteration);
        self.exchanges().into_iter().filter(of_iteration).collect()
    }
}
