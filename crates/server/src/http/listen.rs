//! Accepts connections, with limits on their number, per address and in time, and shuts down
//! gracefully.

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

use super::connection_slots::{ConnectionLimits, ConnectionSlot, ConnectionSlots, RESERVED};
use super::response_memory::ResponsePermit;
use super::write_timeout::WriteTimeoutStream;

#[derive(Debug, Clone, Copy)]
pub struct ConnectionOptions {
    /// Most connections at once.
    pub max_connections: usize,
    /// Most connections per address.
    pub per_address: usize,
    /// Timeout for the head of a connection's first request.
    pub first_request_timeout: Duration,
    /// Timeout for request headers, including the idle time between two requests.
    pub header_timeout: Duration,
    /// How long a client may accept no data.
    pub write_timeout: Duration,
    /// How long requests in flight may take at shutdown.
    pub drain: Duration,
}

/// The address of the client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

/// Marks a request on a reserved connection that is not a health check.
#[derive(Debug, Clone, Copy)]
pub(super) struct AllConnectionsBusy;

/// Accepts connections until `shutdown` resolves, then waits for requests in flight.
pub(crate) async fn listen(
    listener: TcpListener,
    app: Router,
    connections: ConnectionOptions,
    open: Arc<AtomicUsize>,
    shutdown: impl Future<Output = ()>,
) {
    let slots = ConnectionSlots::new(ConnectionLimits {
        all: connections.max_connections,
        per_address: connections.per_address,
        reserved: RESERVED,
    });
    let graceful = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Most likely out of file descriptors: another connection must be closed first.
                    tracing::warn!(%error, "cannot accept a connection");
                    slots.close_one();
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            () = &mut shutdown => break,
        };
        // Without a slot the connection is closed by dropping the stream.
        let Some(taken) = slots.take(peer.ip()) else { continue };
        let slot = taken.slot.clone();
        let connection = connection(stream, peer.ip(), app.clone(), &connections, slot.clone());
        let connection = graceful.watch(connection);
        let first_request_timeout = connections.first_request_timeout;
        open.store(slots.count(), Ordering::Relaxed);
        let (open, slots) = (open.clone(), slots.clone());
        tokio::spawn(async move {
            // A broken connection needs no handling here.
            tokio::select! {
                _ = connection => (),
                () = slot.closed() => (),
                () = no_first_request(&slot, first_request_timeout) => (),
            }
            drop(taken);
            open.store(slots.count(), Ordering::Relaxed);
        });
    }
    drop(listener);
    if tokio::time::timeout(connections.drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were not answered before shutdown");
    }
}

/// Resolves when a new connection has not sent the head of a request in time; otherwise never.
async fn no_first_request(slot: &ConnectionSlot, timeout: Duration) {
    tokio::time::sleep(timeout).await;
    if slot.has_begun() {
        std::future::pending().await
    }
}

type HttpConnection = http1::Connection<
    TokioIo<WriteTimeoutStream>,
    hyper_util::service::TowerToHyperService<ConnectionService>,
>;

fn connection(
    stream: TcpStream,
    peer: IpAddr,
    app: Router,
    connections: &ConnectionOptions,
    slot: Arc<ConnectionSlot>,
) -> HttpConnection {
    let _ = stream.set_nodelay(true);
    let stream = WriteTimeoutStream::new(stream, connections.write_timeout, Some(slot.clone()));
    let is_kept = !slot.is_reserved;
    let service =
        hyper_util::service::TowerToHyperService::new(ConnectionService { app, peer, slot });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(is_kept)
        .header_read_timeout(connections.header_timeout)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), service)
}

/// The router, with the connection's address and slot added to each request.
#[derive(Clone)]
struct ConnectionService {
    app: Router,
    peer: IpAddr,
    slot: Arc<ConnectionSlot>,
}

impl tower::Service<Request<Incoming>> for ConnectionService {
    type Response = axum::response::Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        self.slot.start_request();
        let is_health = matches!(request.uri().path(), "/v1/health" | "/v1/ready");
        let is_refused = self.slot.is_reserved && !is_health;
        let is_closed = request.body().is_end_stream() && !self.slot.mark_request_read();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ClientAddress(self.peer));
        request.extensions_mut().insert(self.slot.clone());
        if is_refused {
            request.extensions_mut().insert(AllConnectionsBusy);
        }
        let (slot, app) = (self.slot.clone(), self.app.clone());
        Box::pin(async move {
            if is_closed {
                // The connection was closed for another client and ends at any moment.
                std::future::pending::<()>().await;
            }
            let mut response = app.oneshot(request).await?;
            slot.start_response(response.extensions_mut().remove::<ResponsePermit>());
            Ok(response.map(|body| Body::new(TrackedBody { body, slot })))
        })
    }
}

/// A response body that tells the slot when it ends. When it is dropped, all of it is in the
/// connection's buffer.
struct TrackedBody {
    body: Body,
    slot: Arc<ConnectionSlot>,
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        self.slot.mark_response_buffered();
    }
}

impl hyper::body::Body for TrackedBody {
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
