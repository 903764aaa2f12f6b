//! A model's API on the loopback: real HTTP, real server-sent events, a played model. It counts what it told each caller,
//! so that a test can compare. It must not know which tool asks: only the dialects differ.

mod anthropic;
mod chat;
mod door;
mod gemini;
mod play;
mod responses;
mod tokens;

pub use play::{Part, Scene};
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

/// Answers until it is dropped.
pub struct ModelServer {
    address: SocketAddr,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
    _runtime: Runtime,
}

impl ModelServer {
    /// Listens on a free port of the calling thread's network; the n-th iteration plays the n-th scene.
    pub fn start(scenes: &'static [Scene]) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let address = listener.local_addr().unwrap();
        let exchanges = Arc::new(Mutex::new(Vec::new()));
        runtime.spawn(door::answer_all(listener, scenes, exchanges.clone()));
        Self {
            address,
            exchanges,
            _runtime: runtime,
        }
    }

    /// Where it is, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All that was asked so far.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges.lock().unwrap().clone()
    }

    /// What one iteration was told, of the work itself and of the tool's side requests that quote its prompt.
    pub fn told(&self, iteration: usize) -> Vec<Exchange> {
        let of_iteration = |exchange: &Exchange| exchange.iteration == Some(iteration);
        self.exchanges().into_iter().filter(of_iteration).collect()
    }
}
