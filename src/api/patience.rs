//! A connection that is given up when its other end takes nothing for too long: a reader that has gone away must not hold what is meant
//! for it. What was read of it on the doorstep is read first. It must not limit how long there is nothing to send.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// A connection and how long a write may be stuck.
pub struct Patient {
    stream: TcpStream,
    /// What was read before, and is to be read first.
    head: Vec<u8>,
    patience: Duration,
    /// Runs while a write is stuck.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    pub fn new(stream: TcpStream, head: Vec<u8>, patience: Duration) -> Self {
        Self {
            stream,
            head,
            patience,
            stuck: None,
        }
    }

    fn judge<T>(
        &mut self,
        wrote: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.stuck = None;
            return wrote;
        }
        let patience = self.patience;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(stuck.as_mut().poll(context));
        stuck.as_mut().reset(Instant::now() + patience);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.head.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let count = self.head.len().min(buffer.remaining());
        buffer.put_slice(&self.head[..count]);
        let rest = self.head.split_off(count);
        self.head = rest;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(wrote, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judge(wrote, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
