//! Connections: bounded in number and in how long they may say nothing, ended in order.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use super::impatient::Impatient;

/// How connections are held.
#[derive(Debug, Clone, Copy)]
pub struct Connections {
    /// The most at once; more wait to be accepted.
    pub most: usize,
    /// How long a connection may take to send its headers, also between two requests.
    pub header_patience: Duration,
    /// How long the other end may take nothing of what it is sent.
    pub write_patience: Duration,
    /// How long requests that were begun may take at the end.
    pub drain: Duration,
}

/// The address of whoever is on the other end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Accepts connections until `shutdown` resolves, then lets begun requests end.
pub(crate) async fn listen(
    listener: TcpListener,
    app: Router,
    connections: Connections,
    open: Arc<AtomicUsize>,
    shutdown: impl Future<Output = ()>,
) {
    let places = Arc::new(Semaphore::new(connections.most));
    let graceful = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place.expect("the semaphore is never closed"),
            () = &mut shutdown => break,
        };
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, most likely: others must close theirs first.
                    tracing::warn!(%error, "a connection can't be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            () = &mut shutdown => break,
        };
        let connection = graceful.watch(connection(stream, peer.ip(), app.clone(), &connections));
        open.fetch_add(1, Ordering::Relaxed);
        let open = open.clone();
        tokio::spawn(async move {
            // A connection that breaks off is the business of its other end.
            let _ = connection.await;
            open.fetch_sub(1, Ordering::Relaxed);
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(connections.drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were not answered in time");
    }
}

type Served =
    http1::Connection<TokioIo<Impatient>, hyper_util::service::TowerToHyperService<Answering>>;

fn connection(stream: TcpStream, peer: IpAddr, app: Router, connections: &Connections) -> Served {
    let _ = stream.set_nodelay(true);
    let service = hyper_util::service::TowerToHyperService::new(Answering { app, peer });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(connections.header_patience)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(Impatient::new(stream, connections.write_patience)), service)
}

/// The router, told who is on the other end.
#[derive(Clone)]
struct Answering {
    app: Router,
    peer: IpAddr,
}

impl tower::Service<Request<Incoming>> for Answering {
    type Response = axum::response::Response;
    type Error = Infallible;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(self.peer));
        Box::pin(self.app.clone().oneshot(request))
    }
}
