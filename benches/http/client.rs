//! Clients that cost next to nothing themselves: one thread a connection, kept open, bytes prepared once.

use super::support::{per_second, percentile};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Calls that are all alike.
pub struct Load {
    address: SocketAddr,
    call: Vec<u8>,
}

/// How long calls took, from the time they were due.
pub struct Times {
    pub p50: Duration,
    pub p99: Duration,
}

impl Load {
    pub fn new(address: SocketAddr, path: &str, body: &str) -> Self {
        let length = body.len();
        let call = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        Self {
            address,
            call: call.into_bytes(),
        }
    }

    /// Calls per second, each connection calling again as soon as it is answered.
    pub fn as_fast_as_possible(&self, connections: usize, calls_each: usize) -> f64 {
        let start = Barrier::new(connections + 1);
        let time = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..connections)
                .map(|_| {
                    scope.spawn(|| {
                        let mut line = Line::open(self.address);
                        line.call(&self.call);
                        start.wait();
                        (0..calls_each).for_each(|_| line.call(&self.call));
                    })
                })
                .collect();
            start.wait();
            let began = Instant::now();
            threads
                .into_iter()
                .for_each(|thread| thread.join().expect("a client"));
            began.elapsed()
        });
        per_second(connections * calls_each, time)
    }

    /// One call on a connection of its own.
    pub fn once(&self) {
        Line::open(self.address).call(&self.call);
    }

    /// Calls at a steady rate whatever the answers take: a late answer makes the next call late, and that counts.
    pub fn at_rate(&self, connections: usize, rate: f64, span: Duration) -> Times {
        let calls_each = (rate * span.as_secs_f64() / connections as f64) as u32;
        let between = span / calls_each.max(1);
        let mut times: Vec<Duration> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..connections)
                .map(|number| {
                    let first = Instant::now() + between * number as u32 / connections as u32;
                    scope.spawn(move || self.steadily(first, between, calls_each))
                })
                .collect();
            let all = threads
                .into_iter()
                .map(|thread| thread.join().expect("a client"));
            all.flatten().collect()
        });
        Times {
            p50: percentile(&mut times, 0.5),
            p99: percentile(&mut times, 0.99),
        }
    }

    fn steadily(&self, first: Instant, between: Duration, count: u32) -> Vec<Duration> {
        let mut line = Line::open(self.address);
        let one = |number: u32| {
            let due = first + between * number;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            line.call(&self.call);
            due.elapsed()
        };
        (0..count).map(one).collect()
    }
}

/// One connection.
struct Line {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Line {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connect");
        stream.set_nodelay(true).expect("no delay");
        Self {
            stream,
            buffer: vec![0; 16 * 1024],
        }
    }

    /// Sends a call and reads its whole answer, which must be a 202.
    fn call(&mut self, call: &[u8]) {
        self.stream.write_all(call).expect("send");
        let mut length = 0;
        loop {
            let read = self
                .stream
                .read(&mut self.buffer[length..])
                .expect("an answer");
            assert!(read > 0, "the connection broke off");
            length += read;
            if is_whole(&self.buffer[..length]) {
                break;
            }
        }
        let answer = &self.buffer[..length];
        assert!(
            answer.starts_with(b"HTTP/1.1 202"),
            "{}",
            String::from_utf8_lossy(answer)
        );
    }
}

fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    length.is_some_and(|length| answer.len() >= end + 4 + length)
}

/// Connections whose calls come bit by bit, and never whole, until this is dropped.
pub fn slow_connections(address: SocketAddr, count: usize) -> impl Drop {
    let streams: Vec<TcpStream> = (0..count)
        .map(|number| {
            let mut stream = TcpStream::connect(address).expect("connect");
            let head: &[u8] = match number % 2 {
                0 => b"POST /v1/sessions HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ",
                _ => b"POST /v1/sessions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{",
            };
            stream.write_all(head).expect("send");
            stream
        })
        .collect();
    Dribble::over(streams)
}

struct Dribble(
    std::sync::Arc<std::sync::atomic::AtomicBool>,
    Option<std::thread::JoinHandle<()>>,
);

impl Dribble {
    fn over(mut streams: Vec<TcpStream>) -> Self {
        use std::sync::atomic::Ordering::Relaxed;
        let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let ends = over.clone();
        let thread = std::thread::spawn(move || {
            while !ends.load(Relaxed) {
                for stream in &mut streams {
                    // Those that were given up are no longer listened to.
                    let _ = stream.write_all(b"a");
                }
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        Self(over, Some(thread))
    }
}

impl Drop for Dribble {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        if let Some(thread) = self.1.take() {
            let _ = thread.join();
        }
    }
}
