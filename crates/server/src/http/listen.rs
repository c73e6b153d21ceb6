//! Connections: bounded in number, by address, and in how long they may say nothing; ended in order.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use bytes::Bytes;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt as _;

use super::impatient::Impatient;
use super::places::{Place, PlaceLimits, Places, RESERVED};
use super::unsent::Unsent;

/// How connections are held.
#[derive(Debug, Clone, Copy)]
pub struct Connections {
    /// The most at once.
    pub most: usize,
    /// The most of one address.
    pub of_address: usize,
    /// How long a new connection may take to send the head of its first request.
    pub first_patience: Duration,
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

/// What a request carries that came on a reserved connection and asks for more than health.
#[derive(Debug, Clone, Copy)]
pub(super) struct AllBusy;

/// Accepts connections until `shutdown` resolves, then lets begun requests end.
pub(crate) async fn listen(
    listener: TcpListener,
    app: Router,
    connections: Connections,
    open: Arc<AtomicUsize>,
    shutdown: impl Future<Output = ()>,
) {
    let places = Places::new(PlaceLimits {
        all: connections.most,
        of_address: connections.of_address,
        reserved: RESERVED,
    });
    let graceful = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, most likely: others must close theirs first.
                    tracing::warn!(%error, "a connection can't be accepted");
                    places.close_one();
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            () = &mut shutdown => break,
        };
        // Without a place the connection is closed as the stream is dropped.
        let Some(taken) = places.take(peer.ip()) else { continue };
        let place = taken.place.clone();
        let connection = connection(stream, peer.ip(), app.clone(), &connections, place.clone());
        let connection = graceful.watch(connection);
        let first_patience = connections.first_patience;
        open.store(places.count(), Ordering::Relaxed);
        let (open, places) = (open.clone(), places.clone());
        tokio::spawn(async move {
            // A connection that breaks off is the business of its other end.
            tokio::select! {
                _ = connection => (),
                () = place.closed() => (),
                () = no_first_request(&place, first_patience) => (),
            }
            drop(taken);
            open.store(places.count(), Ordering::Relaxed);
        });
    }
    drop(listener);
    if tokio::time::timeout(connections.drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were not answered in time");
    }
}

/// Resolves when a new connection has not sent the head of a request in time, and never otherwise.
async fn no_first_request(place: &Place, patience: Duration) {
    tokio::time::sleep(patience).await;
    if place.has_begun() {
        std::future::pending().await
    }
}

type Served =
    http1::Connection<TokioIo<Impatient>, hyper_util::service::TowerToHyperService<Answering>>;

fn connection(
    stream: TcpStream,
    peer: IpAddr,
    app: Router,
    connections: &Connections,
    place: Arc<Place>,
) -> Served {
    let _ = stream.set_nodelay(true);
    let stream = Impatient::new(stream, connections.write_patience, Some(place.clone()));
    let is_kept = !place.is_reserved;
    let service = hyper_util::service::TowerToHyperService::new(Answering { app, peer, place });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(is_kept)
        .header_read_timeout(connections.header_patience)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), service)
}

/// The router, told who is on the other end.
#[derive(Clone)]
struct Answering {
    app: Router,
    peer: IpAddr,
    place: Arc<Place>,
}

impl tower::Service<Request<Incoming>> for Answering {
    type Response = axum::response::Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        self.place.begin();
        let is_health = matches!(request.uri().path(), "/v1/health" | "/v1/ready");
        let is_refused = self.place.is_reserved && !is_health;
        let is_closed = request.body().is_end_stream() && !self.place.is_whole();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(self.peer));
        request.extensions_mut().insert(self.place.clone());
        if is_refused {
            request.extensions_mut().insert(AllBusy);
        }
        let (place, app) = (self.place.clone(), self.app.clone());
        Box::pin(async move {
            if is_closed {
                // The connection was given to somebody else and ends at any moment.
                std::future::pending::<()>().await;
            }
            let mut response = app.oneshot(request).await?;
            place.answer(response.extensions_mut().remove::<Unsent>());
            Ok(response.map(|body| Body::new(LastOf { body, place })))
        })
    }
}

/// A body after which the connection waits for the next request. When it is dropped, all of it is in the
/// buffer of the connection, and is written from there.
struct LastOf {
    body: Body,
    place: Arc<Place>,
}

impl Drop for LastOf {
    fn drop(&mut self) {
        self.place.body_is_buffered();
    }
}

impl hyper::body::Body for LastOf {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
