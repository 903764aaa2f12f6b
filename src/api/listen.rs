//! The listening: takes connections, limits how many and how slow they may be, and lets them finish when the daemon goes down.

use super::Api;
use super::doorstep::first_head;
use super::patience::Patient;
use crate::engine::House;
use crate::files;
use anyhow::{Context, Result, bail};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// The file in the state directory that says where the daemon listens.
pub const ADDRESS_FILE: &str = "ralphd.http";
/// How long calls under way may take once the daemon goes down.
const DRAIN: Duration = Duration::from_secs(10);
/// Where connections cannot be taken (no more open files), it is tried again after this.
const RETRY: Duration = Duration::from_millis(100);
/// The longest head of a request: more than any that is meant well.
const MAX_HEAD_BYTES: usize = 32 * 1024;

/// An address that others could reach, with nobody who would have to show anything.
#[derive(Debug)]
pub struct Unguarded(SocketAddr);

impl std::fmt::Display for Unguarded {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "[http] listen = \"{}\" is open to other machines, and there is no token; make one with 'ralphd token new NAME', or listen at 127.0.0.1",
            self.0
        )
    }
}

impl std::error::Error for Unguarded {}

/// A place to listen at, held but not served yet.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    note: PathBuf,
}

impl Listener {
    /// Takes the configured address; nothing where none is to be listened at.
    pub async fn bind(house: &House) -> Result<Option<Self>> {
        let http = &house.config.http;
        let Some(wanted) = http.address() else {
            return Ok(None);
        };
        let socket = TcpListener::bind(wanted).await.with_context(|| {
            format!("cannot listen at {wanted}; set another address as [http] listen, or \"off\"")
        })?;
        let address = socket.local_addr()?;
        Ok(Some(Self {
            socket,
            address,
            note: house.state.join(ADDRESS_FILE),
        }))
    }

    /// Makes known where it listens. Anything but this machine's own address is open to others, who must show a token.
    pub fn announce(&self, api: &Api) -> Result<()> {
        if !self.address.ip().to_canonical().is_loopback() && !api.gate.has_tokens() {
            bail!(Unguarded(self.address));
        }
        files::write_whole(&self.note, self.address.to_string().as_bytes())?;
        tracing::info!("listening at http://{}", self.address);
        Ok(())
    }

    /// Serves until shutdown, then lets calls under way finish.
    pub async fn run(self, api: Arc<Api>, mut shutdown: watch::Receiver<bool>) {
        let feed = tokio::spawn(api.feed.clone().run(shutdown.clone()));
        let pulse = tokio::spawn(api.dashboard.pulse().run(shutdown.clone()));
        let connections = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(
            api.house.config.http.max_connections as usize,
        ));
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.socket, &room) => accepted,
                _ = shutdown.wait_for(|down| *down) => break,
            };
            let (stream, peer, place) = accepted;
            let going_down = shutdown.clone();
            let served = serve(api.clone(), stream, peer, connections.watcher(), going_down);
            tokio::spawn(async move {
                served.await;
                drop(place);
            });
        }
        drop(self.socket);
        let _ = std::fs::remove_file(&self.note);
        if tokio::time::timeout(DRAIN, connections.shutdown())
            .await
            .is_err()
        {
            tracing::warn!("some HTTP calls did not end in time and are cut off");
        }
        let _ = feed.await;
        let _ = pulse.await;
    }
}

type Place = tokio::sync::OwnedSemaphorePermit;

/// The next connection, as soon as there is room for it.
async fn accept(socket: &TcpListener, room: &Arc<Semaphore>) -> (TcpStream, SocketAddr, Place) {
    loop {
        let Ok(place) = room.clone().acquire_owned().await else {
            // The semaphore is never closed.
            std::future::pending::<()>().await;
            continue;
        };
        match socket.accept().await {
            Ok((stream, peer)) => return (stream, peer, place),
            Err(error) => {
                tracing::warn!("cannot take a connection: {error}");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Serves one connection to its end.
async fn serve(
    api: Arc<Api>,
    stream: TcpStream,
    peer: SocketAddr,
    watcher: Watcher,
    mut shutdown: watch::Receiver<bool>,
) {
    let patience = Duration::from(api.house.config.http.client_timeout);
    // Small answers go out at once.
    let _ = stream.set_nodelay(true);
    let first_head = tokio::time::timeout(patience, first_head(&stream, MAX_HEAD_BYTES));
    let head = tokio::select! {
        head = first_head => head,
        _ = shutdown.wait_for(|down| *down) => return,
    };
    let Ok(Ok(Some(head))) = head else {
        tracing::debug!("a connection from {peer} asked for nothing");
        return;
    };
    // In a box, as is its call: a connection keeps room for them from the start, also as long as there are none.
    let service = service_fn(move |request| {
        let answering = api.clone();
        let answer = async move { Ok::<_, Infallible>(answering.answer(request, peer).await) };
        Box::pin(answer)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(Patient::new(stream, head, patience)), service);
    if let Err(error) = Box::pin(watcher.watch(connection)).await {
        // The other end went away, or was too slow: its affair.
        tracing::debug!("a connection from {peer} broke off: {error}");
    }
}
