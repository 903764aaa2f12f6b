//! Many who watch the event stream: how long until the last of them has seen that a session was made.

use super::client::Load;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

const ROUNDS: usize = 20;
const EVENT: &[u8] = b"event: session.created";

/// The longest time from the sending of a request to the last watcher, over some rounds the median.
pub fn last_of(address: SocketAddr, count: usize, body: &str) -> Duration {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let (tell, mut told) = mpsc::unbounded_channel();
    runtime.block_on(async {
        for _ in 0..count {
            let stream = open(address).await;
            tokio::spawn(watch(stream, tell.clone()));
        }
    });
    let load = Load::new(address, "/v1/sessions", body);
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            load.once();
            runtime.block_on(async {
                let mut last = began;
                for _ in 0..count {
                    last = last.max(told.recv().await.expect("a watcher"));
                }
                last - began
            })
        })
        .collect();
    super::support::percentile(&mut times, 0.5)
}

async fn open(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("connect");
    let call = format!("GET /v1/events HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stream.write_all(call.as_bytes()).await.expect("send");
    let mut greeting = vec![0; 4096];
    let mut length = 0;
    while !greeting[..length]
        .windows(6)
        .any(|bytes| bytes == b"retry:")
    {
        let read = stream
            .read(&mut greeting[length..])
            .await
            .expect("an answer");
        assert!(read > 0, "the stream broke off");
        length += read;
    }
    stream
}

/// Tells of each event that it sees; an event comes in one piece, being far smaller than a packet on loopback.
async fn watch(mut stream: TcpStream, tell: mpsc::UnboundedSender<Instant>) {
    let mut buffer = vec![0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        let now = Instant::now();
        let seen = buffer[..read]
            .windows(EVENT.len())
            .filter(|bytes| *bytes == EVENT);
        for _ in seen {
            let _ = tell.send(now);
        }
    }
}
