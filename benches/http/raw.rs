//! The limit: hyper, one thread that commits whatever waits, one small table; a process of its own, as the daemon is.

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rusqlite::Connection;
use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

pub const ARGUMENT: &str = "raw-server";
const MAX_JOBS_PER_COMMIT: usize = 256;
const SCHEMA: &str = "CREATE TABLE jobs (id INTEGER PRIMARY KEY, payload TEXT NOT NULL)";

type Job = (Bytes, oneshot::Sender<()>);

/// The bare server in a process of its own.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    pub fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .arg(ARGUMENT)
            .stdout(Stdio::piped())
            .spawn()
            .expect("start the bare server");
        let mut line = String::new();
        let mut told = BufReader::new(child.stdout.take().expect("its words"));
        told.read_line(&mut line).expect("where it listens");
        let address = line.trim().parse().expect("an address");
        Self { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves until it is killed.
pub fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let directory = super::support::place();
    let connection = Connection::open(directory.path().join("raw.db")).expect("open");
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        .and_then(|()| connection.execute_batch(SCHEMA))
        .expect("prepare");
    let (sender, receiver) = mpsc::channel(4096);
    std::thread::spawn(move || write(&connection, receiver));
    runtime.block_on(listen(sender));
}

async fn listen(sender: mpsc::Sender<Job>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("listen");
    println!("{}", listener.local_addr().expect("an address"));
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        let _ = stream.set_nodelay(true);
        let sender = sender.clone();
        let service = service_fn(move |request| answer(request, sender.clone()));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    request: Request<Incoming>,
    sender: mpsc::Sender<Job>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.expect("a body");
    let (tell, told) = oneshot::channel();
    sender
        .send((body.to_bytes(), tell))
        .await
        .expect("the writer lives");
    told.await.expect("the writer answers");
    let mut response = Response::new(Full::new(Bytes::from_static(b"{}")));
    *response.status_mut() = StatusCode::ACCEPTED;
    Ok(response)
}

fn write(connection: &Connection, mut waiting: mpsc::Receiver<Job>) {
    let mut batch = Vec::with_capacity(MAX_JOBS_PER_COMMIT);
    while let Some(first) = waiting.blocking_recv() {
        batch.push(first);
        while batch.len() < MAX_JOBS_PER_COMMIT
            && let Ok(next) = waiting.try_recv()
        {
            batch.push(next);
        }
        connection.execute_batch("BEGIN IMMEDIATE").expect("begin");
        for (payload, _) in &batch {
            let text = std::str::from_utf8(payload).expect("text");
            let mut push = connection
                .prepare_cached("INSERT INTO jobs (payload) VALUES (?1)")
                .expect("a statement");
            push.execute([text]).expect("a row");
        }
        connection.execute_batch("COMMIT").expect("commit");
        for (_, tell) in batch.drain(..) {
            let _ = tell.send(());
        }
    }
}
